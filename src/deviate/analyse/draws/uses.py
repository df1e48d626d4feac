"""What becomes of a drawn value: followed forwards through names, results and the functions it is handed to."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deviate.analyse.abstract import External
from deviate.analyse.draws.find import Drawn
from deviate.analyse.draws.learned import is_carried, is_descent, is_false, learns
from deviate.analyse.draws.surroundings import ModuleFacts, iter_names
from deviate.analyse.draws.tables import SEED_NAME, SEEDING
from deviate.analyse.index import Binding, CallSite, ModuleIndex, Scope, Unit, enclosing_loops, lookup
from deviate.analyse.program import called_name

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Expressions visited for one draw.
MAX_VISITS = 150
#: Calls and results a value is followed through.
MAX_CALLS = 3
#: Depth within a function that a value was handed to.
WITHIN = -1

#: Functions and methods that give the same values in another form, or from which they can still be told.
_SAME_CALLS = frozenset({
    "int", "float", "str", "abs", "list", "tuple", "sorted", "set", "iter", "cycle", "islice", "next", "zip",
    "enumerate", "tqdm", "reversed", "array", "asarray", "asanyarray", "tensor", "as_tensor", "from_numpy", "Tensor",
    "LongTensor", "FloatTensor", "IntTensor", "DoubleTensor", "Variable", "stack", "concatenate", "cat", "hstack",
    "vstack", "where", "sort", "argsort", "array_split", "split", "chunk", "reshape", "squeeze", "expand_dims",
    "ravel", "sqrt", "exp", "clip", "maximum", "minimum", "round", "floor", "mod", "device_put", "constant",
    "convert_to_tensor", "cast", "to_tensor", "float32", "float64", "int32", "int64", "dict", "partial", "map",
})  # fmt: skip
_SAME_METHODS = frozenset({
    "to", "cuda", "cpu", "long", "int", "float", "double", "half", "astype", "tolist", "numpy", "item", "view",
    "reshape", "squeeze", "unsqueeze", "mul", "mul_", "div", "div_", "add", "add_", "sub", "clamp", "clamp_",
    "detach", "clone", "copy", "type", "expand", "repeat", "transpose", "permute", "t", "sort", "split", "chunk",
    "flatten", "ravel", "contiguous", "requires_grad_", "normal_", "uniform_", "fill_", "type_as", "bfloat16",
    "round", "floor", "abs", "sqrt", "exp", "pow", "next", "values", "items", "get", "pin_memory",
})  # fmt: skip


@dataclass
class Uses:
    """What becomes of a value."""

    #: It is given to what seeds a generator, or to a name for seeds.
    seeds: str = ""
    #: It is a parameter that the training changes: by what that is seen.
    learned: str = ""
    #: What it is an index of, with the scope and the place.
    indexed: list[tuple[ast.expr, Scope]] = field(default_factory=list)
    iterated: bool = False
    compared: bool = False
    #: It is read in a loop, or in another function.
    in_loop: bool = False
    #: Names that hold it, in the order they were met.
    names: list[str] = field(default_factory=list)
    #: Names of functions that it is handed to.
    handed: set[str] = field(default_factory=set)


class UseFinder:
    """Follows values."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._facts: dict[ModuleIndex, ModuleFacts] = {}

    def facts(self, module: ModuleIndex) -> ModuleFacts:
        """Return what surrounds the nodes of a file."""
        if module not in self._facts:
            self._facts[module] = ModuleFacts(module)
        return self._facts[module]

    def uses(self, drawn: Drawn) -> Uses:
        """Return what becomes of what a draw gives."""
        walk = _Walk(self, drawn)
        walk.run()
        return walk.found


class _Walk:
    def __init__(self, finder: UseFinder, drawn: Drawn) -> None:
        self.finder = finder
        self.flow = finder.flow
        self.drawn = drawn
        self.found = Uses()
        #: Expressions with their scopes and the number of calls on the way; -1 within a function it was handed to,
        #: whose result is not taken for the value.
        self.waiting: list[tuple[ast.AST, Scope, int]] = []
        self.seen: set[object] = set()

    def run(self) -> None:
        """Follow the value until it is lost sight of."""
        scope = self.drawn.site.scope
        call = self.drawn.site.node
        if any(key.arg == "requires_grad" and not is_false(key.value) for key in call.keywords):
            self.found.learned = "requires_grad"
        if self.drawn.into is not None:
            self._follow_target(_base(self.drawn.into), scope, 0)
        self.waiting.append((call, scope, 0))
        visits = 0
        while self.waiting and visits < MAX_VISITS:
            visits += 1
            node, inner, depth = self.waiting.pop()
            if node not in self.seen:
                self.seen.add(node)
                self._step(node, inner, depth)

    def _parent(self, node: ast.AST, scope: Scope) -> ast.AST | None:
        return self.finder.facts(scope.module).parents.get(node)

    def _step(self, node: ast.AST, scope: Scope, depth: int) -> None:
        """Look at what is done with the value of one expression."""
        parent = self._parent(node, scope)
        match parent:
            case ast.Attribute():
                self._attribute(parent, scope, depth)
            case ast.Call():
                if parent.func is not node:
                    self._argument(parent, "", node, scope, depth)
            case ast.keyword():
                call = self._parent(parent, scope)
                if isinstance(call, ast.Call):
                    self._argument(call, parent.arg or "", node, scope, depth)
            case ast.Subscript():
                if parent.slice is node:
                    self._indexes(parent, scope, depth)
                else:
                    self.waiting.append((parent, scope, depth))
            case ast.Slice():
                subscript = self._parent(parent, scope)
                while isinstance(subscript, ast.Tuple):
                    subscript = self._parent(subscript, scope)
                if isinstance(subscript, ast.Subscript):
                    self._indexes(subscript, scope, depth)
            case ast.Compare():
                self.found.compared = True
                self.waiting.append((parent, scope, depth))
            case ast.Lambda() | ast.BinOp(op=ast.MatMult()):
                pass
            case ast.expr():
                if isinstance(parent, ast.NamedExpr):
                    self._follow_target(parent.target, scope, depth)
                self.waiting.append((parent, scope, depth))
            case ast.comprehension():
                self._comprehension(parent, node, scope, depth)
            case _:
                self._statement(parent, node, scope, depth)

    def _indexes(self, subscript: ast.Subscript, scope: Scope, depth: int) -> None:
        """Note what is indexed; a number that another function indexes with need not be a position in the data."""
        if depth != WITHIN or self.drawn.gives == "order":
            self.found.indexed.append((subscript.value, scope))

    def _statement(self, parent: ast.AST | None, node: ast.AST, scope: Scope, depth: int) -> None:
        match parent:
            case ast.Assign():
                mentioned = set(iter_names(parent.value))
                for target in parent.targets:
                    # In W = W - rate * x, x is no first value of W.
                    if not (isinstance(target, (ast.Name, ast.Attribute)) and _last_name(target) in mentioned):
                        self._follow_target(target, scope, depth)
            case ast.AnnAssign():
                self._follow_target(parent.target, scope, depth)
            case ast.For() | ast.AsyncFor() if parent.iter is node:
                self.found.iterated = True
                self._follow_target(parent.target, scope, depth)
            case ast.Return():
                self._returned(scope, depth)
            case _:
                pass

    def _comprehension(self, parent: ast.comprehension, node: ast.AST, scope: Scope, depth: int) -> None:
        if parent.iter is not node:
            return
        around = self._parent(parent, scope)
        self.found.iterated = True
        if isinstance(around, ast.expr):
            self._follow_target(parent.target, scope.module.inner.get(around, scope), depth)
            self.waiting.append((around, scope, depth))

    def _attribute(self, parent: ast.Attribute, scope: Scope, depth: int) -> None:
        call = self._parent(parent, scope)
        if isinstance(call, ast.Call) and call.func is parent:
            if parent.attr == "requires_grad_":
                self.found.learned = "requires_grad"
            if parent.attr in _SAME_METHODS:
                self.waiting.append((call, scope, depth))
        elif parent.attr in {"grad", "requires_grad"}:
            self.found.learned = f".{parent.attr}"
        else:
            self.waiting.append((parent, scope, depth))

    def _argument(self, call: ast.Call, keyword: str, node: ast.AST, scope: Scope, depth: int) -> None:
        """Look at a function that the value is handed to."""
        name = called_name(call)
        self.found.handed.add(name)
        if self._seeds(call, scope) or SEED_NAME.search(keyword) or keyword == "random_state":
            self.found.seeds = self.found.seeds or f"it seeds {name or 'a generator'}"
            return
        if learns(call, name):
            self.found.learned = name
            return
        units = self.flow.program.targets(self.flow, CallSite(call, scope, None, None))
        if units:
            self._into_function(call, units[0], keyword, node, depth)
            return
        if isinstance(call.func, ast.Attribute) and name in {"append", "add", "extend", "update"}:
            self._follow_target(call.func.value, scope, depth)
        if name in _SAME_CALLS:
            self.waiting.append((call, scope, depth))

    def _seeds(self, call: ast.Call, scope: Scope) -> bool:
        if not SEEDING.search(called_name(call)) and called_name(call) != "key":
            return False
        refs = self.flow.value(call.func, scope).refs
        dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
        return any(SEEDING.search(one) for one in dotted) or bool(
            not dotted and SEEDING.search(called_name(call)) and called_name(call) != "Random"
        )

    def _into_function(self, call: ast.Call, unit: Unit, keyword: str, node: ast.AST, depth: int) -> None:
        names = unit.parameters[1 if unit.is_method else 0 :]
        given = next((at for at, one in enumerate(call.args) if one is node), None)
        name = keyword if keyword in names else names[given] if given is not None and given < len(names) else ""
        if name:
            self._follow_name(name, unit, WITHIN)

    def _returned(self, scope: Scope, depth: int) -> None:
        if depth == WITHIN or depth >= MAX_CALLS:
            return
        for site in self.flow.program.callers(self.flow, scope.unit)[:6]:
            self.waiting.append((site.node, site.scope, depth + 1))

    def _follow_target(self, target: ast.expr, scope: Scope, depth: int) -> None:
        """Follow what is assigned to."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self._follow_target(one, scope, depth)
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            self._follow_target(target.value, scope, depth)
        elif isinstance(target, ast.Name):
            self._follow_name(target.id, scope, depth)
        elif isinstance(target, ast.Attribute):
            self._follow_attribute(target, scope, depth)

    def _follow_name(self, name: str, scope: Scope, depth: int) -> None:
        found = lookup(name, scope)
        if found is None or (id(found[0]), name) in self.seen:
            return
        home, bindings = found
        self.seen.add((id(home), name))
        self._named(name)
        self._changes(name, bindings)
        for node, inner, place in self.finder.facts(home.module).names.get(name, []):
            at = lookup(name, inner)
            if at is not None and at[0] is home:
                self.found.in_loop |= inner.unit is not home.unit or bool(enclosing_loops(place))
                self.waiting.append((node, inner, depth))

    def _follow_attribute(self, target: ast.Attribute, scope: Scope, depth: int) -> None:
        name = target.attr
        if name == "data":
            self._follow_target(target.value, scope, depth)
            return
        if (id(scope.module), "." + name) in self.seen:
            return
        self.seen.add((id(scope.module), "." + name))
        self._named(name)
        owner = scope.unit.enclosing_class
        if owner is not None:
            self._changes(name, owner.attributes.get(name, []))
        for node, inner, place in self.finder.facts(scope.module).attributes.get(name, []):
            if owner is None or inner.unit.enclosing_class is owner:
                self.found.in_loop |= inner.unit is not scope.unit or bool(enclosing_loops(place))
                self.waiting.append((node, inner, depth))

    def _named(self, name: str) -> None:
        self.found.names.append(name)
        if SEED_NAME.search(name) and self.drawn.gives in {"integers", "values", "order"}:
            self.found.seeds = self.found.seeds or f"it becomes {name}"

    def _changes(self, name: str, bindings: list[Binding]) -> None:
        """See whether a loop changes what a name holds, as training does."""
        elsewhere = [one for module in self.flow.program.modules for one in module.attribute_stores.get(name, ())]
        for one in (*bindings, *elsewhere):
            if self.found.learned:
                return
            if is_descent(one):
                self.found.learned = f"{name} is updated"
            elif self._may_be_learned(one) and is_carried(one, name):
                self.found.learned = f"{name} is carried through the loop"

    def _may_be_learned(self, binding: Binding) -> bool:
        return self.drawn.gives == "values" and binding.kind == "assign" and bool(enclosing_loops(binding.place))


def _base(node: ast.expr) -> ast.expr:
    """Return what an in-place method changes: ``m.weight`` of ``m.weight.data``."""
    while True:
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "data"):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in {"to", "cuda", "float", "double", "view", "detach"}:
                return node
            node = node.func.value
        else:
            return node


def _last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
