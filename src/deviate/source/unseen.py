"""Lines whose outcome is another in another run though nothing is drawn: what an unseen cause of differences may be.

They are suspects only: whether one matters, trial runs with it fixed tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
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
    "secrets.SystemRandom": "entropy",
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
    known = "memory" if _TENSORS.match(dotted) and _gives_sizes(call) else CALLS.get(dotted)
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
