"""Code that a compiler reads: a call to an unknown function would break it, or cut it into other pieces."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.callgraph import CallGraph
from deviate.analyse.flow.evaluation import Flow
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import ClassScope, Unit
from deviate.analyse.source.syntax import called_name

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
