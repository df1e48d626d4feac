"""Find the calls that draw random numbers, and code that a compiler reads."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from deviate.source.draws import tables
from deviate.source.draws.tables import Gives, Makers
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.reach import CallGraph
from deviate.source.flow.values import External, Instance
from deviate.source.index import CallSite, ClassScope, Unit, under_main_guard
from deviate.source.syntax import called_name, dotted_text, text_of

_STARTS = ("make_", "random_", "stateless_", "sample_distorted")
_AUGMENTERS = re.compile(r"mix_?up|cut_?mix|aug|transform|erasing", re.IGNORECASE)
#: What a library's own boundary covers.
_FETCHES = {"__getitem__", "__getitems__", "__call__"}
_SPACES = {"action_space", "single_action_space", "observation_space"}


@dataclass(frozen=True, eq=False)
class Drawn:
    """A call that draws."""

    site: CallSite
    #: Dotted name of what is called where it is known, else as it is written.
    call: str
    gives: Gives
    #: What the draw is put into, where it does not return it: ``idx`` of ``shuffle(idx)``, ``w`` of ``w.normal_()``.
    into: ast.expr | None = None

    @property
    def unit(self) -> Unit:
        """The function it stands in."""
        return self.site.scope.unit


def find_drawn(flow: Flow) -> list[Drawn]:
    """Return the calls of the running code that draw, in the order of files and lines."""
    finder = _Finder(flow)
    program = flow.program
    draws = [
        drawn
        for module in program.modules
        for unit in module.units
        if unit in program.reached
        for site in unit.calls
        if finder.may_draw(site) and (drawn := finder.look(site)) is not None
    ]
    return sorted(draws, key=lambda draw: (draw.unit.module.file, draw.site.node.lineno, draw.site.node.col_offset))


class _Finder:
    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.makers = Makers(flow)
        aliases = flow.program.aliases
        self.names = tables.NAMES.union(*(aliases.get(name, ()) for name in tables.NAMES))

    def may_draw(self, site: CallSite) -> bool:
        """Tell by the name alone whether a call is worth a look."""
        name = called_name(site.node)
        if name not in self.names and not name.startswith(_STARTS) and not name.endswith("Split"):
            return bool(_AUGMENTERS.search(name))
        return True

    def look(self, site: CallSite) -> Drawn | None:
        """Return the draw that a call is."""
        if site.scope.module is not self.flow.program.entry and under_main_guard(site.nesting):
            return None
        refs = self.flow.value(site.node.func, site.scope).refs
        if any(isinstance(ref, (Unit, ClassScope)) for ref in refs):
            return None
        for ref in refs:
            if isinstance(ref, External) and not ref.made and (source := self._by_dotted(site, ref.dotted)):
                return source
        if any(isinstance(ref, External) and not ref.made for ref in refs):
            return None
        if isinstance(site.node.func, ast.Attribute):
            return self._method(site, site.node.func)
        return self._augmenter(site)

    def _by_dotted(self, site: CallSite, dotted: str) -> Drawn | None:
        dotted = tables.plain_name(dotted)
        gives = tables.known_call(dotted)
        if tables.SHUFFLED_FOLDS.search(dotted) and _says_true(site.node, "shuffle"):
            gives = "data"
        if gives is None:
            return None
        into = site.node.args[0] if dotted.endswith((".shuffle", ".random_shuffle")) and site.node.args else None
        return Drawn(site, dotted, gives, into)

    def _method(self, site: CallSite, func: ast.Attribute) -> Drawn | None:
        name, text = func.attr, text_of(func)
        if name in tables.FILLS:
            return Drawn(site, f"Tensor.{name}", "values", func.value)
        if self._is_own(site, func):
            return None
        for maker in self.makers.of(func.value, site.scope):
            if name == "sample" and tables.TABLES.match(maker):
                return Drawn(site, text, "order")
            methods = tables.methods_of(maker)
            if methods is not None and name in methods:
                into = site.node.args[0] if name == "shuffle" and site.node.args else None
                return Drawn(site, text, methods[name], into)
            if name == "sample" and tables.BUFFERS.search(maker):
                return Drawn(site, text, "batch")
        return self._named_method(site, func, text) or self._augmenter(site)

    def _is_own(self, site: CallSite, func: ast.Attribute) -> bool:
        """Whether the method is one of the project's own."""
        refs = self.flow.value(func.value, site.scope).refs
        return any(
            isinstance(ref, Instance) and self.flow.program.method(self.flow, ref.cls, func.attr) for ref in refs
        )

    def _named_method(self, site: CallSite, func: ast.Attribute, text: str) -> Drawn | None:
        """Tell a method by its name and what it is called on, where the making of that is not found."""
        name, call = func.attr, site.node
        receiver = dotted_text(func.value).rpartition(".")[2]
        if name in tables.ANY_METHODS and tables.GENERATOR_NAMES.match(receiver):
            into = call.args[0] if name == "shuffle" and call.args else None
            return Drawn(site, text, tables.ANY_METHODS[name], into)
        if name == "sample" and receiver in _SPACES:
            return Drawn(site, text, "action")
        if name == "rsample" or (name == "sample" and tables.DISTRIBUTION_NAMES.search(receiver)):
            return Drawn(site, text, "values")
        if name == "sample" and {"frac", "random_state"} & {key.arg for key in call.keywords}:
            return Drawn(site, text, "order")
        if name == "rvs":
            return Drawn(site, text, "values")
        if name in {"multinomial", "bernoulli"}:
            return Drawn(site, f"Tensor.{name}", "integers" if name == "multinomial" else "values")
        if name == "train_test_split":
            return Drawn(site, text, "data")
        return self._keyed(site, func, text)

    def _keyed(self, site: CallSite, func: ast.Attribute, text: str) -> Drawn | None:
        """Find the parameters, and the stochastic layers, of a model that is handed its keys."""
        call = site.node
        if func.attr in {"init", "init_with_output"} and call.args:
            first = call.args[0]
            key = dotted_text(first.func if isinstance(first, ast.Call) else first).rpartition(".")[2]
            if tables.KEY_NAMES.search(key) or key in {"PRNGKey", "key", "next_rng_key"}:
                return Drawn(site, text, "init")
        if func.attr == "apply" and any(key.arg == "rngs" for key in call.keywords):
            return Drawn(site, text, "layers")
        return None

    def _augmenter(self, site: CallSite) -> Drawn | None:
        """Find the call of an object of a library that augments."""
        func = site.node.func
        fetches = site.scope.unit.owner is not None and site.scope.unit.name in _FETCHES
        if fetches or not site.node.args or not _AUGMENTERS.search(called_name(site.node)):
            return None
        if any(tables.AUGMENTERS.search(maker) for maker in self.makers.of(func, site.scope)):
            return Drawn(site, text_of(func), "augment")
        return None


def _says_true(call: ast.Call, name: str) -> bool:
    return any(
        key.arg == name and not (isinstance(key.value, ast.Constant) and not key.value.value) for key in call.keywords
    )


#: How many arguments stand before the size, where a function of NumPy draws one number without it.
_BEFORE_SIZE = {
    **dict.fromkeys(("rand", "randn", "random", "random_sample", "ranf", "standard_normal", "standard_cauchy"), 0),
    **dict.fromkeys(("standard_exponential", "bytes"), 0),
    **dict.fromkeys(("permutation", "permuted"), 0),
    **dict.fromkeys(
        ("choice", "poisson", "exponential", "chisquare", "geometric", "rayleigh", "standard_t", "pareto"), 1
    ),
    **dict.fromkeys(("pareto", "weibull", "zipf", "power", "logseries", "standard_gamma"), 1),
    **dict.fromkeys(("triangular", "hypergeometric", "noncentral_f"), 3),
}
_OF_TENSORS = re.compile(r"^(torch|jax|tensorflow|keras|Tensor)\.")
_OF_ONE_NUMBER = re.compile(r"^random\.|(^|\.)(rvs|random_integers)$")


def gives_array(drawn: Drawn) -> bool:
    """Tell whether a draw gives an array or fills one, not one number."""
    name, call = drawn.call.rpartition(".")[2], drawn.site.node
    if drawn.into is not None or {"size", "shape"} & {key.arg for key in call.keywords}:
        return True
    if name in {"multinomial", "dirichlet", "multivariate_normal"} or _OF_TENSORS.match(drawn.call):
        return True
    if drawn.call.startswith(("numpy.", "cupy.")) or name in tables.NUMPY_METHODS:
        return not _OF_ONE_NUMBER.search(drawn.call) and len(call.args) > _BEFORE_SIZE.get(name, 2)
    return not _OF_ONE_NUMBER.search(drawn.call)


# Code that a compiler reads: a call to an unknown function would break it, or cut it into other pieces.

_READERS = re.compile(r"^torch\.(compile|jit\.script(_if_tracing)?)$|^torch\._dynamo\.optimize$")
_FUNCTION_READERS = re.compile(
    r"^(numba|nb)\.\w+$|^tensorflow\.(function|autograph\.\w+)$|^torch\.(compile|jit\.script)$"
)
_KERAS = re.compile(r"(^|\.)keras(\.\w+)*\.(Model|Layer|Sequential)$|^tensorflow\.(Module|keras)\b")
_MODULES = re.compile(r"(^|\.)(nn\.Module|\w*LightningModule|PreTrainedModel)$|^torch\.nn\.")


class Compiled:
    """Tells which functions compilers read, as far as calls say so; decorators are seen when a file is written."""

    def __init__(self, flow: Flow, graph: CallGraph) -> None:
        self.flow = flow
        self.graph = graph
        self.units = graph.closure(list(self._roots()), constructors=False)

    def _roots(self) -> set[Unit]:
        units: set[Unit] = set()
        modules = False
        for unit in self.flow.program.reached:
            for site in unit.calls:
                name = called_name(site.node)
                if name in {"compile", "script", "optimize", "njit", "jit", "function", "vectorize", "map"}:
                    dotted = [
                        ref.dotted for ref in self.flow.value(site.node.func, site.scope).refs
                        if isinstance(ref, External) and not ref.made
                    ]  # fmt: skip
                    modules = modules or any(_READERS.search(path) for path in dotted) or _compiles_itself(site.node)
                    if any(_FUNCTION_READERS.search(path) for path in dotted) or _maps_dataset(site.node, dotted):
                        units |= self._functions(site.node, site.scope)
        for cls in self.flow.program.classes:
            if self._is_read(cls, modules):
                units |= {unit for name, unit in cls.methods.items() if name not in {"__init__", "build"}}
        return units & self.flow.program.reached

    def _functions(self, call: ast.Call, scope: object) -> set[Unit]:
        refs = [ref for argument in call.args for ref in self.flow.value(argument, scope).refs]  # type: ignore[arg-type]
        return {ref for ref in refs if isinstance(ref, Unit)} | {
            unit for ref in refs if isinstance(ref, Instance) for unit in ref.cls.methods.values()
        }

    def _is_read(self, cls: ClassScope, modules: bool) -> bool:
        bases = self.flow.program.external_bases(self.flow, cls)
        if any(_KERAS.search(name) for name in bases):
            return True
        return modules and any(_MODULES.search(name) for name in bases)


def _compiles_itself(call: ast.Call) -> bool:
    """Whether it is ``model.compile()`` of PyTorch, not that of Keras."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "compile" or call.args:
        return False
    return {key.arg for key in call.keywords} <= {"mode", "fullgraph", "dynamic", "backend", "options", "disable"}


def _maps_dataset(call: ast.Call, dotted: list[str]) -> bool:
    """Whether a function is given to ``Dataset.map`` of TensorFlow, which reads its source."""
    keywords = {key.arg for key in call.keywords}
    return called_name(call) == "map" and (
        "num_parallel_calls" in keywords or any(name.startswith("tensorflow.") for name in dotted)
    )
