"""Which methods run: those that an object of a class that the program makes has by the name that is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.analyse.flow.program import Program
from deviate.analyse.flow.values import Valuation
from deviate.analyse.source.index import ClassScope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name, text_of

_HOOKS = re.compile(
    r"^(on_|forward$|call$|build$|step$|run$|configure_|prepare_data|setup$|training_|validation_|validate_|test_|predict_|"
    r"train_step|compute_loss|evaluation_|.*_dataloader$|.*_step$|.*_epoch_end$|.*_start$|.*_end$|before_|after_|get_metric)"
)
_PLAIN_BASES = re.compile(r"(^|\.)(Module|Layer|Model|Dataset|object|ABC|Function|Enum|dict|list|NamedTuple)$")


class Objects:
    """The classes of which objects are made, and the names of methods that are asked of them.

    What a class does for a name is settled by the nearest class that defines it, so that a base of which no object is
    made runs only the methods that the classes below it do not define themselves.
    """

    def __init__(self, program: Program, flow: Valuation) -> None:
        self.program = program
        self.flow = flow
        self.made: dict[ClassScope, list[ClassScope]] = {}
        #: The same, by each class that an object derives from, and by each name of a method that it has.
        self._below: dict[ClassScope, list[list[ClassScope]]] = {}
        self._having: dict[str, list[list[ClassScope]]] = {}
        #: Classes that objects are tested for: what makes those may be out of sight.
        self.tested: list[ClassScope] = []
        #: Names that are asked of any object, of one of a class, and of the classes above one.
        self._asked: set[str] = set()
        self._asked_of: dict[ClassScope, set[str]] = {}
        self._asked_above: dict[ClassScope, set[str]] = {}

    def make(self, cls: ClassScope) -> Iterator[Unit]:
        """Yield the methods that run once an object of a class is made."""
        if cls in self.made:
            return
        classes = self.made[cls] = self.program.ancestors(self.flow, cls)
        runs_all = any(not self._is_plain_base(base, each) for each in classes for base in each.bases)
        names = dict.fromkeys(name for each in classes for name in each.methods)
        for each in classes:
            self._below.setdefault(each, []).append(classes)
        for name in names:
            self._having.setdefault(name, []).append(classes)
            unit = _nearest(classes, name)
            if unit is not None and (runs_all or self._is_asked(name, classes) or _runs_by_itself(unit)):
                yield unit
        for at, each in enumerate(classes):
            for name in self._asked_above.get(each, ()):
                if unit := _nearest(classes[at + 1 :], name):
                    yield unit

    def make_tested(self) -> Iterator[Unit]:
        """Yield the methods of classes that objects are tested for, though no object of theirs is seen to be made."""
        while self.tested:
            cls = self.tested.pop()
            if cls not in self._below:
                yield from self.make(cls)

    def ask(self, name: str) -> Iterator[Unit]:
        """Yield the methods that run when a name is asked of an object that is not known."""
        if name not in self._asked:
            self._asked.add(name)
            for classes in self._having.get(name, ()):
                if unit := _nearest(classes, name):
                    yield unit

    def ask_of(self, owner: ClassScope, name: str) -> Iterator[Unit]:
        """Yield the methods that run when a name is asked of an object of a class or of one below: ``self.name``."""
        asked = self._asked_of.setdefault(owner, set())
        if name not in asked:
            asked.add(name)
            for classes in self._below.get(owner) or [self.program.ancestors(self.flow, owner)]:
                if unit := _nearest(classes, name):
                    yield unit

    def ask_above(self, owner: ClassScope | None, name: str) -> Iterator[Unit]:
        """Yield the methods that run when a class asks those above it: ``super().name()``."""
        if owner is None or name in self._asked_above.setdefault(owner, set()):
            return
        self._asked_above[owner].add(name)
        for classes in self._below.get(owner) or [self.program.ancestors(self.flow, owner)]:
            if unit := _nearest(classes[classes.index(owner) + 1 :], name):
                yield unit

    def _is_asked(self, name: str, classes: list[ClassScope]) -> bool:
        return name in self._asked or any(name in self._asked_of.get(each, ()) for each in classes)

    def _is_plain_base(self, base: ast.expr, cls: ClassScope) -> bool:
        """Whether a base class calls no methods of its own accord: the project's own, or a plain container."""
        assert cls.parent is not None
        if any(isinstance(ref, ClassScope) for ref in self.flow.value(base, cls.parent).refs):
            return True
        for binding in bindings_of(base.id, cls.parent)[:1] if isinstance(base, ast.Name) else ():
            is_imported = binding.kind == "import"
            if is_imported and isinstance(self.program.resolve_dotted(binding.key, cls.module), tuple):
                return True
        text = text_of(base)
        return not text or (_PLAIN_BASES.search(text) is not None and "Lightning" not in text)


def _nearest(classes: list[ClassScope], name: str) -> Unit | None:
    return next((cls.methods[name] for cls in classes if name in cls.methods), None)


def _runs_by_itself(unit: Unit) -> bool:
    """Whether Python or a library calls a method without being asked by name."""
    return unit.name.startswith("__") or bool(_HOOKS.match(unit.name)) or unit.has_decorator("property")


def called_above(call: ast.Call) -> str:
    """Return the method that is called of the classes above: ``super().step()``, ``Base.step(self)``."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return ""
    is_super = isinstance(func.value, ast.Call) and called_name(func.value) == "super"
    return func.attr if is_super or passes_self(call) else ""


def passes_self(call: ast.Call) -> bool:
    """Whether a call passes the object as its first argument."""
    return bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == "self"
