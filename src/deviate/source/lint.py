"""Lines of a project that are known to make runs differ: a table of rules, each with its remedy and its source.

A line is a finding by what is written there; whether runs differ by it, trial runs tell.

Lines whose outcome is another in another run though nothing is drawn: what an unseen cause of differences may be.

They are suspects only: whether one matters, trial runs with it fixed tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from deviate.source.files import UnreadableSourceError, deeply, read_source
from deviate.source.syntax import dotted_text, text_of

#: ``hash``: the order of sets of strings, `hash` of a string. ``clock``: the time as a value. ``entropy``: what the
#: system makes up. ``files``: the order in which files are listed. ``threads``: the order in which they finish.
#: ``memory``: arrays that are not filled. ``leftovers``: files of an earlier run.
Hidden = Literal["hash", "clock", "entropy", "files", "threads", "memory", "leftovers"]

#: Longest text of a line that is named.
SHOWN = 60

_CLOCK = "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time localtime gmtime ctime strftime"
CALLS: dict[str, Hidden] = {
    **{f"time.{name}": "clock" for name in _CLOCK.split()},
    **{f"datetime.datetime.{name}": "clock" for name in ("now", "utcnow", "today")},
    "datetime.date.today": "clock",
    "os.urandom": "entropy", "os.getrandom": "entropy", "uuid.uuid1": "entropy", "uuid.uuid4": "entropy",
    "random.SystemRandom": "entropy", "secrets.randbits": "entropy", "secrets.randbelow": "entropy",
    "secrets.token_bytes": "entropy", "secrets.token_hex": "entropy", "secrets.choice": "entropy",
    "secrets.SystemRandom": "entropy", "numpy.random.default_rng()": "entropy", "numpy.random.RandomState()": "entropy",
    "numpy.random.SeedSequence()": "entropy", "random.Random()": "entropy",
    "os.listdir": "files", "os.scandir": "files", "os.walk": "files", "glob.glob": "files", "glob.iglob": "files",
    "threading.Thread": "threads", "concurrent.futures.ThreadPoolExecutor": "threads",
    "concurrent.futures.as_completed": "threads", "multiprocessing.pool.ThreadPool": "threads",
    "multiprocessing.dummy.Pool": "threads",
    "numpy.empty": "memory", "numpy.empty_like": "memory", "torch.empty": "memory", "torch.empty_like": "memory",
    "torch.empty_strided": "memory", "numpy.ndarray": "memory",
    "os.path.exists": "leftovers", "os.path.isfile": "leftovers", "os.path.isdir": "leftovers",
    "hash": "hash",
}  # fmt: skip

#: Types of tensors, which are not filled where they are called with sizes.
_TENSORS = re.compile(r"^torch\.(cuda\.)?(Float|Double|Half|Long|Int|Byte)?Tensor$")

_METHODS: dict[str, Hidden] = {
    "iterdir": "files", "glob": "files", "rglob": "files", "imap_unordered": "threads", "new_empty": "memory",
    "exists": "leftovers", "is_file": "leftovers", "is_dir": "leftovers",
}  # fmt: skip

#: What does not depend on the order of what it is given.
_UNORDERED = {"sorted", "set", "frozenset", "len", "min", "max", "any", "all"}

#: What keeps the order of what it is given.
_ORDERED = {
    *("list", "tuple", "enumerate", "iter", "map", "filter", "zip", "next", "join", "array", "asarray", "sum", "fsum"),
    *("fromkeys", "reduce", "chain", "extend", "choice", "choices", "sample", "islice", "Counter"),
}

_SET_METHODS = {"union", "intersection", "difference", "symmetric_difference", "copy"}
_SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


class Suspect(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A line that may give another outcome in another run."""

    #: Relative to the project, with forward slashes.
    file: str
    line: int
    kind: Hidden
    #: The expression.
    text: str


@deeply
def find_suspects(root: Path, files: Sequence[str]) -> list[Suspect]:
    """Return the suspects in files of a project, in the order of files and lines."""
    suspects: set[Suspect] = set()
    for file in files:
        try:
            tree = read_source(root / file).tree
        except UnreadableSourceError:
            continue
        suspects.update(
            Suspect(file=file, line=node.lineno, kind=kind, text=short(text_of(node))) for kind, node in look(tree)
        )
    return sorted(suspects)


def short(text: str) -> str:
    """Cut a text of a line that is named."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def parents_of(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """Return what each node of a file stands in."""
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def look(tree: ast.Module) -> Iterator[tuple[Hidden, ast.expr]]:
    """Yield the suspects of a file, each with its kind."""
    parents = parents_of(tree)
    imported = imported_names(tree)
    sets = _Sets(tree)
    ordered = sorted_names(tree)
    for node in ast.walk(tree):
        kind = _kind(node, imported) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and kind and not (kind == "files" and _is_sorted(node, parents, ordered)):
            yield kind, node
        yield from (("hash", expression) for expression in sets.iterated(node, parents))


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return the dotted names that names of the file stand for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _kind(call: ast.Call, imported: dict[str, str]) -> Hidden | None:
    first, dot, rest = dotted_text(call.func).partition(".")
    dotted = f"{imported.get(first, first)}{dot}{rest}"
    unseeded = "" if call.args or call.keywords else "()"
    known = CALLS.get(dotted) or CALLS.get(dotted + unseeded)
    known = "memory" if _TENSORS.match(dotted) and _gives_sizes(call) else known
    if known is None and isinstance(call.func, ast.Attribute):
        return _METHODS.get(call.func.attr)
    return known


def _gives_sizes(call: ast.Call) -> bool:
    """Whether what makes a tensor is given sizes, by which it is not filled; data stand in a list or are computed."""
    sizes = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    return bool(sizes) and all(isinstance(each, (ast.Constant, ast.Name, ast.Attribute, ast.BinOp)) for each in sizes)


def sorted_names(tree: ast.Module) -> set[str]:
    """Return the names that are sorted somewhere: ``files.sort()``, ``sorted(files)``."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "sort":
                names.add(dotted_text(node.func.value))
            elif dotted_text(node.func) == "sorted" and node.args:
                names.add(dotted_text(node.args[0]))
    return names - {""}


def _is_sorted(node: ast.expr, parents: dict[ast.AST, ast.AST], ordered: set[str]) -> bool:
    """Tell whether what an expression yields is put into an order of its own, or only counted."""
    at: ast.AST = node
    while at in parents and not isinstance(at, ast.stmt):
        at = parents[at]
        if isinstance(at, ast.Call) and at is not node and dotted_text(at.func) in _UNORDERED:
            return True
    return isinstance(at, ast.Assign) and any(dotted_text(target) in ordered for target in at.targets)


class _Sets:
    """What is known to be a set in a file."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        assigned = [
            (dotted_text(target), node.value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        # Twice, as a set may be made of one that stands farther down.
        for _ in range(2):
            self.names |= {name for name, value in assigned if name and self.holds(value)}

    def holds(self, node: ast.expr) -> bool:
        """Tell whether an expression is a set."""
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS):
            return self.holds(node.left) or self.holds(node.right)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _SET_METHODS:
                return self.holds(node.func.value)
            return dotted_text(node.func) in ("set", "frozenset")
        return dotted_text(node) in self.names

    def iterated(self, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.expr]:
        """Yield the sets that `node` goes through in their order."""
        if isinstance(node, (ast.For, ast.AsyncFor)) and self.holds(node.iter):
            yield node.iter
        elif isinstance(node, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
            if not _is_sorted(node, parents, set()):
                yield from (part.iter for part in node.generators if self.holds(part.iter))
        elif isinstance(node, ast.Call):
            name = dotted_text(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
            if name == "pop" and not node.args and isinstance(node.func, ast.Attribute) and self.holds(node.func.value):
                yield node
            elif name in _ORDERED and not _is_sorted(node, parents, set()):
                yield from (argument for argument in node.args if self.holds(argument))
        elif isinstance(node, ast.Starred) and self.holds(node.value):
            yield node.value


class Finding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A line that may make runs differ."""

    #: Relative to the project, with forward slashes.
    file: str
    line: int
    #: One of `RULES`.
    rule: str
    #: The expression.
    text: str
    #: Of an operation: when it has no deterministic form, in the words of the library.
    when: str = ""
    #: It matters where a GPU is used.
    on_gpu: bool = False


@dataclass(frozen=True)
class Rule:
    """What is wrong with a line, what to write instead, and who says so."""

    says: str
    remedy: str
    source: str
    on_gpu: bool = False


_RANDOMNESS = "https://docs.pytorch.org/docs/stable/notes/randomness.html"
_HASH_SEED = "https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHASHSEED"

RULES: Mapping[str, Rule] = {
    "operation": Rule(
        "has no deterministic form on a GPU",
        "another operation; torch.use_deterministic_algorithms(True, warn_only=True) warns as it runs",
        "torch.use_deterministic_algorithms of the installed version", on_gpu=True),
    "workers": Rule(
        "worker processes draw, and no seed is set",
        "torch.manual_seed(0), and a generator or worker_init_fn for the loader", f"{_RANDOMNESS}#dataloader"),
    "listing": Rule(
        "files are listed in the order of the file system", "sorted(...)",
        "https://docs.python.org/3/library/os.html#os.listdir"),
    "set": Rule("a set of strings has another order in each process", "sorted(...)", _HASH_SEED),
    "hash": Rule("the hash of a string is another in each process", "zlib.crc32(text.encode())", _HASH_SEED),
    "clock": Rule(
        "a seed is another in each run", "a constant, or an option", "https://docs.python.org/3/library/random.html"),
    "append": Rule(
        "threads append in the order in which they finish", "the results of executor.map, which keep their order",
        "https://docs.python.org/3/library/concurrent.futures.html"),
    "benchmark": Rule(
        "cuDNN chooses kernels by their time", "torch.backends.cudnn.benchmark = False",
        f"{_RANDOMNESS}#cuda-convolution-benchmarking", on_gpu=True),
    "tf32": Rule(
        "products are rounded to TF32 on GPUs that have it, so that other GPUs give other values",
        'torch.set_float32_matmul_precision("highest")',
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#tf32-on-ampere", on_gpu=True),
}  # fmt: skip


@dataclass(frozen=True)
class _Module:
    """One file that is looked through."""

    file: str
    tree: ast.Module
    #: Operations without a deterministic form, by dotted name, with the words of their library.
    operations: Mapping[str, str]
    #: Some file of the project sets a seed.
    seeded: bool

    def __post_init__(self) -> None:
        names = imported_names(self.tree)
        object.__setattr__(self, "parents", parents_of(self.tree))
        object.__setattr__(self, "calls", [(_resolved(each, names), each) for each in _nodes(self.tree, ast.Call)])

    parents: Mapping[ast.AST, ast.AST] = None  # type: ignore[assignment]
    calls: Sequence[tuple[str, ast.Call]] = ()

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node stands in, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node


#: Yields what a rule finds in a file: rule, node and, of operations, when they have no deterministic form.
_Check = Callable[[_Module], Iterator[tuple[str, ast.expr, str]]]


@deeply
def lint(root: Path, files: Sequence[str], torch: Path | None = None) -> list[Finding]:
    """Return the findings in files of a project; `torch` is where the library is installed."""
    trees = dict(_trees(root, files))
    seeded = any(_seeds(node) for tree in trees.values() for node in _nodes(tree, ast.Call))
    operations = undetermined(torch) if torch else {}
    found = {
        Finding(file=file, line=node.lineno, rule=rule, text=short(text_of(node)), when=when, on_gpu=RULES[rule].on_gpu)
        for file, tree in trees.items()
        for module in [_Module(file, tree, operations, seeded)]
        for check in _CHECKS
        for rule, node, when in check(module)
    }
    return sorted(found)


def _trees(root: Path, files: Sequence[str]) -> Iterator[tuple[str, ast.Module]]:
    for file in files:
        try:
            yield file, read_source(root / file).tree
        except UnreadableSourceError:
            continue


def _nodes(tree: ast.AST, kind: type[ast.Call]) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def _resolved(call: ast.Call, names: Mapping[str, str]) -> str:
    first, dot, rest = dotted_text(call.func).partition(".")
    dotted = f"{names.get(first, first)}{dot}{rest}"
    return dotted or (f".{call.func.attr}" if isinstance(call.func, ast.Attribute) else "")


def _argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    given = next((each.value for each in call.keywords if each.arg == name), None)
    if given is None and place is not None and len(call.args) > place:
        return call.args[place]
    return given


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


# Operations


def find_torch(program: Path) -> Path | None:
    """Return the installed torch of an interpreter; None where none is found beside it."""
    return next(iter(sorted(program.parent.parent.glob("lib/python3*/*-packages/torch/__init__.py"))), None)


def undetermined(torch: Path) -> dict[str, str]:
    """Return the operations that the installed torch says have no deterministic form, each with when that is so."""
    try:
        text = torch.read_text(encoding="utf-8")
    except OSError:
        return {}
    listed = re.search(r"operations will throw a.*?\n(.*?)\n    In addition", text, re.DOTALL)
    entries = re.findall(r"\* :\w+:`([\w.]+)`((?:(?!\n\s*\* :).)*)", listed[1] if listed else "", re.DOTALL)
    words = {name: re.sub(r"[`\s]+", " ", when.replace(":attr:", "")) for name, when in entries}
    return {name: when.partition(" and one of ")[0].strip() for name, when in words.items()}


#: By operation, the argument without which it has a deterministic form: its place, and values that matter; none: any.
_NEEDS: Mapping[str, tuple[str, int | None, tuple[str, ...]]] = {
    "torch.bincount": ("weights", 1, ()),
    "torch.median": ("dim", 1, ()),
    "torch.nn.EmbeddingBag": ("mode", 5, ("max",)),
    "torch.nn.functional.interpolate": ("mode", 3, ("linear", "bilinear", "bicubic", "trilinear")),
    "torch.Tensor.scatter_reduce": ("reduce", 3, ("prod",)),
}


def _operations(module: _Module) -> Iterator[tuple[str, ast.expr, str]]:
    known = {_functional(name): name for name in module.operations} | {name: name for name in module.operations}
    known |= {f".{name.rpartition('.')[2]}": name for name in module.operations if ".Tensor." in name}
    for dotted, call in module.calls:
        name = known.get(dotted) or known.get(f".{dotted.rpartition('.')[2]}" if "torch" not in dotted else "")
        # That of quantised tensors only.
        if name is None or name == "torch.Tensor.resize_":
            continue
        argument, place, values = _NEEDS.get(name, ("", None, ()))
        given = _argument(call, argument, place) if argument else None
        if not argument or (given is not None and (not values or _constant(given) in values)):
            yield "operation", call, module.operations[name]


def _functional(name: str) -> str:
    """Return the function that a layer calls: ``torch.nn.functional.max_unpool2d``."""
    words = re.sub(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.rpartition(".")[2]).lower()
    return f"torch.nn.functional.{words}"


# Seeds, workers and threads

_SEEDING = re.compile(r"seed|(^|\.)(RandomState|default_rng|Random|PRNGKey|SeedSequence)$|random\.key$")


_SEED = re.compile(r"(^|_)seed$", re.IGNORECASE)


def _seeds(call: ast.Call) -> bool:
    name = dotted_text(call.func).rpartition(".")[2]
    return "seed" in name and bool(call.args or call.keywords)


def _workers(module: _Module) -> Iterator[tuple[str, ast.expr, str]]:
    for dotted, call in module.calls:
        if dotted.endswith("DataLoader") and not module.seeded:
            number, shuffle = _argument(call, "num_workers", 5), _argument(call, "shuffle", 2)
            draws = number is not None and _constant(number) != 0 and _constant(shuffle or number) is not False
            if draws and shuffle is not None and not _argument(call, "worker_init_fn"):
                yield "workers", call, ""


def _clocks(module: _Module) -> Iterator[tuple[str, ast.expr, str]]:
    names = imported_names(module.tree)

    def moves(node: ast.AST) -> bool:
        return any(CALLS.get(_resolved(each, names)) in ("clock", "entropy") for each in _nodes(node, ast.Call))

    for dotted, call in module.calls:
        if _SEEDING.search(dotted) and any(moves(each) for each in [*call.args, *call.keywords]):
            yield "clock", call, ""
    for node in ast.walk(module.tree):
        named = isinstance(node, ast.Assign) and any(_SEED.search(dotted_text(target)) for target in node.targets)
        if isinstance(node, ast.Assign) and named and moves(node.value):
            yield "clock", node.value, ""


def _appends(module: _Module) -> Iterator[tuple[str, ast.expr, str]]:
    functions = {node.name: node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)}
    pooled = any(name.endswith(("ThreadPoolExecutor", "ThreadPool")) for name, _ in module.calls)
    for dotted, call in module.calls:
        target = _argument(call, "target") if dotted.endswith("Thread") else None
        if pooled and isinstance(call.func, ast.Attribute) and call.func.attr in ("submit", "apply_async"):
            target = call.args[0] if call.args else None
        function = functions.get(dotted_text(target).rpartition(".")[2]) if target is not None else None
        if function is not None and any(isinstance(each, _LOOPS) for each in module.above(call)):
            yield from (("append", each, "") for each in _outer_appends(function))


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)


def _outer_appends(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield what appends to a list that the function does not make itself."""
    own = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    for call in _nodes(function, ast.Call):
        owner, _, method = dotted_text(call.func).rpartition(".")
        if method == "append" and owner and owner not in own:
            yield call


# Orders


def _orders(module: _Module) -> Iterator[tuple[str, ast.expr, str]]:
    ordered = sorted_names(module.tree)
    for kind, node in look(module.tree):
        if kind == "files" and not any(
            _tests(each, node) or _fills(each, node, ordered) for each in module.above(node)
        ):
            yield "listing", node, ""
        elif kind == "hash" and not any(getattr(each, "name", "") == "__hash__" for each in module.above(node)):
            called = isinstance(node, ast.Call) and dotted_text(node.func) == "hash"
            yield "hash" if called else "set", node, ""


def _tests(statement: ast.AST, node: ast.AST) -> bool:
    test = statement.test if isinstance(statement, (ast.If, ast.While, ast.Assert)) else None
    return test is not None and any(each is node for each in ast.walk(test))


def _fills(statement: ast.AST, node: ast.AST, ordered: set[str]) -> bool:
    """Tell whether a statement goes through what a node yields, and puts it into a list that is sorted."""
    if not isinstance(statement, ast.For) or not any(each is node for each in ast.walk(statement.iter)):
        return False
    calls = (dotted_text(each.func).rpartition(".") for each in _nodes(statement, ast.Call))
    return any(method == "append" and owner in ordered for owner, _, method in calls)


# Switches


def _switches(module: _Module) -> Iterator[tuple[str, ast.expr, str]]:
    for dotted, call in module.calls:
        if dotted.endswith("set_float32_matmul_precision") and _constant(_argument(call, "precision", 0)) in _TF32:
            yield "tf32", call, ""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign) and _constant(node.value) is True:
            for target in node.targets:
                rule = _ASSIGNED.get(dotted_text(target).rpartition(".")[2])
                if rule and "." in dotted_text(target):
                    yield rule, target, ""


_TF32 = ("high", "medium")
_ASSIGNED = {"benchmark": "benchmark", "allow_tf32": "tf32"}

_CHECKS: tuple[_Check, ...] = (_operations, _workers, _clocks, _appends, _orders, _switches)
