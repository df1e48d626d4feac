"""Values of attributes: of modules, objects, named tuples and data classes of the project, and of others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from msgspec.structs import replace

from deviate.source.flow.calls import attribute_of
from deviate.source.flow.program import Evaluator, Program
from deviate.source.flow.values import NOTHING, External, From, Instance, Ref, Valuation, Value, join, of
from deviate.source.index import Binding, ClassScope, ModuleIndex, Scope, Unit, bindings_of
from deviate.source.syntax import called_name, is_dataclass, text_of


def given_fields(program: Program, flow: Valuation, instance: Instance) -> dict[str, ast.expr]:
    """Return the arguments that make a record, by the names of its fields; nothing of any other object."""
    made = instance.made
    if made is None or not _is_record(program, flow, instance.cls):
        return {}
    if any(isinstance(arg, ast.Starred) for arg in made.args):
        return {}
    given = dict(zip(_fields(instance.cls), made.args, strict=False))
    return given | {key.arg: key.value for key in made.keywords if key.arg is not None}


def _is_record(program: Program, flow: Valuation, cls: ClassScope) -> bool:
    if is_dataclass(cls.node):
        return True
    return any(base.endswith("NamedTuple") for base in program.external_bases(flow, cls))


def _fields(cls: ClassScope) -> list[str]:
    statements = cls.node.body if isinstance(cls.node, ast.ClassDef) else []
    declared = (each.target for each in statements if isinstance(each, ast.AnnAssign))
    return [target.id for target in declared if isinstance(target, ast.Name)]


#: Classes that share an attribute's name are all considered up to this number.
MAX_OWNERS = 4
#: Assignments to an attribute that are looked at.
MAX_STORES = 8
#: What Ignite's engines keep of a pass: ``engine.state.metrics``.
_OF_STATE = {"metrics", "output"}
#: Numbers that libraries name.
_NUMBERS = {"inf", "Inf", "infty", "nan", "NaN", "NAN", "pi"}
#: What an attribute may start from that other code fills.
_FIRST_VALUES = {From.CONSTANT, From.SETTING, From.COUNT}


def attribute_value(flow: Evaluator, node: ast.Attribute, scope: Scope) -> Value:
    """Evaluate ``base.name``."""
    base = flow.value(node.value, scope)
    if not base.refs and base.params() and not base.plain():
        base = replace(base, refs=flow.resolve(base).refs)
    values = [value for ref in base.refs if (value := _of_ref(flow, ref, node.attr)) is not None]
    if values:
        return _with_updates(base, join(values))
    if isinstance(node.value, ast.Attribute) and node.value.attr == "state" and node.attr in _OF_STATE:
        return Value(frozenset({From.LIVE}))
    if node.attr == "data" and base.has(From.LIVE) and not base.refs:
        return base  # of a tensor, whatever classes of the project keep under this name
    by_name = attribute_of(base, node.attr)
    if by_name is not None:
        return by_name
    if base.has(From.SETTING):
        return Value(base.origins)
    if node.attr in base.keys:
        return base.keys[node.attr]
    if not base.refs:
        of_classes = _of_any_class(flow, node.attr)
        if of_classes is not NOTHING:
            return of_classes
    stores = scope.module.attribute_stores.get(node.attr)
    if stores:
        return join([Value(base.origins), *(flow.binding(binding) for binding in stores[:MAX_STORES])])
    return Value(base.origins - {From.TEXT} if base.has(From.LIVE) else base.origins or frozenset({From.UNKNOWN}))


def _of_ref(flow: Evaluator, ref: Ref, name: str) -> Value | None:
    if isinstance(ref, ModuleIndex):
        return _of_module(flow, ref, name)
    if isinstance(ref, External):
        if name in _NUMBERS and not ref.made:
            return of(From.CONSTANT)
        below = flow.program.imports.below(ref.dotted, name)
        return Value(refs=(below or External(f"{ref.dotted}.{name}"),)) if not ref.made else None
    if isinstance(ref, Instance):
        return instance_attribute(flow, ref, name)
    if isinstance(ref, ClassScope):
        return _of_class(flow, ref, name)
    return None


def _of_module(flow: Evaluator, module: ModuleIndex, name: str) -> Value | None:
    if name in module.unit.bindings:
        return flow.value_of_name(name, module)
    below = flow.program.resolve_dotted(f"{module.dotted}.{name}" if module.dotted else name, module)
    if isinstance(below, ModuleIndex):
        return Value(refs=(below,))
    value = flow.value_of_name(name, module)
    return value if value.refs or not value.has(From.UNKNOWN) else None


def _of_class(flow: Evaluator, cls: ClassScope, name: str) -> Value | None:
    for base in flow.program.ancestors(flow, cls):
        if name in base.bindings:
            stores = base.module.attribute_stores.get(name, [])[:MAX_STORES]
            return join([flow.binding(binding) for binding in (*base.bindings[name], *stores)])
    return None


def instance_attribute(flow: Evaluator, instance: Instance, name: str) -> Value | None:
    """Evaluate an attribute of an object of the project: its methods, properties and what methods assign."""
    given = given_fields(flow.program, flow, instance).get(name)
    if given is not None and instance.scope is not None:
        return flow.value(given, instance.scope)
    values: list[Value] = []
    for cls in flow.program.family(flow, instance.cls):
        if name in cls.methods:
            unit = cls.methods[name]
            values.append(flow.returned(unit) if is_property(unit) else Value(refs=(unit,)))
        elif name in cls.bindings:
            values.extend(flow.binding(binding) for binding in cls.bindings[name])
        values.extend(_attribute_binding(flow, cls, name))
    if values:
        return _with_stores(flow, instance, name, join(values))
    getter = next(iter(flow.program.method(flow, instance.cls, "__getattr__")), None)
    if getter is not None:
        value = flow.returned(getter)
        return Value(value.origins | {From.UNKNOWN}, value.refs)
    return Value(frozenset({From.UNKNOWN})) if flow.program.external_bases(flow, instance.cls) else None


def _with_stores(flow: Evaluator, instance: Instance, name: str, value: Value) -> Value:
    """Add what other code assigns to an attribute that the class gives no more than a first value."""
    if value.refs or value.params() or not value.plain() <= _FIRST_VALUES:
        return value
    stores = [
        binding
        for module in flow.program.modules
        for binding in module.attribute_stores.get(name, ())
        if _is_of(flow, binding, name, instance)
    ]
    return join([value, *(flow.binding(binding) for binding in stores[:MAX_STORES])])


def _is_of(flow: Evaluator, binding: Binding, name: str, instance: Instance) -> bool:
    """Whether an assignment is to an attribute of an object of a class, or of one that is not known."""
    bases = [target.value for target in _targets(binding.statement) if target.attr == name]
    refs = [ref for base in bases for ref in flow.value(base, binding.scope).refs]
    family = flow.program.family(flow, instance.cls)
    return bool(bases) and (not refs or any(isinstance(ref, Instance) and ref.cls in family for ref in refs))


def _targets(statement: ast.AST | None) -> list[ast.Attribute]:
    """Return the attributes that a statement assigns, or that a call puts something into: ``log.losses.append(x)``."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if isinstance(statement, ast.Call) and isinstance(statement.func, ast.Attribute):
        targets = [statement.func.value]
    # What is put under a key is put into the attribute: ``engine.hooks["on_start"] = begin``.
    held = [target.value if isinstance(target, ast.Subscript) else target for target in targets]
    return [target for target in held if isinstance(target, ast.Attribute)]


def _attribute_binding(flow: Evaluator, cls: ClassScope, name: str) -> list[Value]:
    bindings = cls.attributes.get(name)
    if not bindings:
        return []
    return [flow.once((id(cls), "self." + name), lambda: _joined(flow, bindings))]


def _joined(flow: Evaluator, bindings: list[Binding]) -> Value:
    return flow.with_computed_keys(join([flow.binding(binding) for binding in bindings]), bindings)


def is_property(unit: Unit) -> bool:
    """Whether reading the attribute calls the method."""
    return any(unit.has_decorator(name) for name in ("property", "cached_property")) or any(
        isinstance(decorator, ast.Attribute) and decorator.attr in {"cached_property", "getter"}
        for decorator in unit.decorators
    )


def _with_updates(base: Value, value: Value) -> Value:
    """Replace the parameters of the class's methods by what this very object received.

    ``losses.update(loss)`` makes ``losses.avg`` the loss, whatever other meters hold.
    """
    updates = base.plain() - {From.OBJECT, From.UNKNOWN}
    unknown = base.plain() & {From.UNKNOWN}  # an object that the project makes is known: what it received is not
    params = [param for param in value.params() if param.unit.owner is not None and param.unit.name != "__init__"]
    if not updates or not params:
        return value
    return value.with_origins(value.origins - frozenset(params) | updates | unknown)


def _of_any_class(flow: Evaluator, name: str) -> Value:
    """Evaluate an attribute of an unknown object: what the project's classes store under that name."""
    owners = flow.program.attributes.get(name, [])
    if not owners or len(owners) > MAX_OWNERS:
        return NOTHING
    return join([value for cls in owners for value in _attribute_binding(flow, cls, name)])


# Which methods run: those that an object of a class that the program makes has by the name that is called.

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
