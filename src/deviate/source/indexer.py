"""Build the index of one file in a single walk without recursion, so that no nesting is too deep."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import get_args

from deviate.source.index import Binder, Binding, CallSite, ClassScope, Loop, ModuleIndex, Nesting, Scope, Store, Unit
from deviate.source.syntax import called_name

_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)

#: What is looked at; operators and contexts are not.
_VISITED = (
    ast.expr, ast.stmt, ast.keyword, ast.excepthandler, ast.arguments, ast.arg, ast.withitem, ast.match_case,
    ast.pattern, ast.comprehension,
)  # fmt: skip
#: Fields without such nodes.
_PLAIN_FIELDS = {"ctx", "op", "ops", "id", "attr", "kind", "type_comment", "level", "is_async", "conversion"}
#: The other fields of each kind of node, the last one first.
_FIELDS: dict[type, list[str]] = {
    kind: [field for field in reversed(kind._fields) if field not in _PLAIN_FIELDS]
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}

_Nesting = Nesting | None
_Statement = ast.stmt | None
_Item = tuple[ast.AST, Scope, _Nesting, _Statement]
#: Nodes that one visitor takes.
_Assign = ast.Assign | ast.AnnAssign | ast.NamedExpr
_Loop = ast.For | ast.AsyncFor | ast.While
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Result = ast.Return | ast.Yield | ast.YieldFrom


def index_module(file: str, dotted: str, tree: ast.Module, lines: list[str]) -> ModuleIndex:
    """Index a parsed file."""
    return _Indexer(ModuleIndex(file, dotted, lines, tree)).run()


class _Indexer:
    def __init__(self, module: ModuleIndex) -> None:
        self.module = module
        self.stack: list[_Item] = []
        self.binder = Binder(module)
        self.visitors: dict[type, Callable[..., bool]] = {
            kind: getattr(self, f"_{name}") for name, kinds in _VISITS.items() for kind in kinds
        }

    def run(self) -> ModuleIndex:
        self._push_all(self.module.tree.body, self.module.unit, None)
        stack, visitors = self.stack, self.visitors
        while stack:
            node, scope, nesting, statement = stack.pop()
            if isinstance(node, ast.stmt):
                statement = node
            visit = visitors.get(type(node))
            if visit is None or visit(node, scope, nesting, statement):
                self._descend(node, scope, nesting, statement)
        self.binder.finish()
        return self.module

    def _descend(self, node: ast.AST, scope: Scope, nesting: _Nesting, statement: _Statement) -> None:
        """Put a node's children on the stack, the first one on top; most of the analysis' steps are taken here."""
        stack = self.stack
        compound = isinstance(node, _COMPOUND)
        for field in _FIELDS[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                inside = Nesting(node, field, nesting) if compound else nesting
                for child in reversed(value):
                    if isinstance(child, _VISITED):
                        stack.append((child, scope, inside, statement))
            elif isinstance(value, _VISITED):
                stack.append((value, scope, nesting, statement))

    def _push_all(self, nodes: list[ast.stmt], scope: Scope, nesting: Nesting | None) -> None:
        self.stack.extend((node, scope, nesting, None) for node in reversed(nodes))

    # Each visitor returns whether the generic descent into the node's children still has to happen.

    def _load(self, node: ast.Name | ast.Attribute, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        if isinstance(node.ctx, ast.Load):
            scope.unit.loads.append((node, scope, nesting))
        return isinstance(node, ast.Attribute)

    def _constant(self, node: ast.AST, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        return False

    def _call(self, node: ast.Call, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        scope.unit.calls.append(CallSite(node, scope, nesting, statement))
        if isinstance(node.func, ast.Attribute):
            self.binder.bind_argument(node.func, node, scope, nesting)
        return True

    def _compare(self, node: ast.Compare, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        if type(node.ops[0]) is ast.Eq and len(node.ops) == 1:
            scope.unit.equalities.append((node, statement))
        return True

    def _assign(self, node: _Assign, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None:
            return True
        named = _named_function(node)
        if named is not None:
            return self._function(named, scope, nesting, statement)
        home = scope
        while isinstance(node, ast.NamedExpr) and home.kind == "comprehension" and home.parent is not None:
            home = home.parent
        module = _imported_by_call(node.value)
        for target in targets:
            if module and isinstance(target, ast.Name):
                home.bind(
                    target.id, Binding("import", None, (), home, nesting, node.lineno, key=module, statement=node)
                )
                continue
            self.binder.bind(target, Binding("assign", node.value, (), home, nesting, node.lineno, statement=node))
            if isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(node, ast.stmt):
                scope.unit.stores.append(Store(target, node.value, scope, nesting, node))
        return True

    def _augment(self, node: ast.AugAssign, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        self.binder.bind(node.target, Binding("aug", node.value, (), scope, nesting, node.lineno, statement=node))
        if isinstance(node.target, (ast.Attribute, ast.Subscript)):
            scope.unit.stores.append(Store(node.target, node.value, scope, nesting, node))
        return True

    def _loop(self, node: _Loop, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        scope.unit.loops.append(Loop(node, scope, nesting))
        if not isinstance(node, ast.While):
            inside = Nesting(node, "body", nesting)
            self.binder.bind(node.target, Binding("for", node.iter, (), scope, inside, node.lineno, statement=node))
        return True

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        for item in node.items:
            if item.optional_vars is not None:
                binding = Binding("with", item.context_expr, (), scope, nesting, node.lineno, statement=node)
                self.binder.bind(item.optional_vars, binding)
        return True

    def _except(self, node: ast.ExceptHandler, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        if node.name:
            scope.bind(node.name, Binding("opaque", None, (), scope, nesting, node.lineno, key="text"))
        self._push_all(node.body, scope, Nesting(node, "body", nesting))
        return False

    def _import(
        self, node: ast.Import | ast.ImportFrom, scope: Scope, nesting: _Nesting, statement: _Statement
    ) -> bool:
        self.module.imports.append((node, scope, nesting))
        for alias in node.names:
            dotted, bound = _import_target(node, alias)
            if alias.name == "*":
                self.module.stars.append(dotted)
            else:
                scope.bind(bound, Binding("import", None, (), scope, nesting, node.lineno, key=dotted, statement=node))
        return False

    def _function(self, node: _Function, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        owner = scope if isinstance(scope, ClassScope) else None
        unit = Unit("function", node.name, node, scope, self.module, owner=owner, nesting=nesting)
        self.module.units.append(unit)
        scope.bind(node.name, Binding("def", None, (), scope, nesting, node.lineno, target=unit, statement=node))
        if owner is not None and not (node.name in owner.methods and _is_accessor(node)):
            owner.methods[node.name] = unit  # of two with one name the last counts
        self._parameters(node.args, unit, scope, nesting, node)
        self._push_all(node.body, unit, None)
        self.stack.extend((decorator, scope, nesting, statement) for decorator in reversed(node.decorator_list))
        return False

    def _parameters(
        self, args: ast.arguments, unit: Scope, scope: Scope, nesting: Nesting | None, node: ast.AST
    ) -> None:
        plain = [*args.posonlyargs, *args.args]
        defaults = dict(zip([arg.arg for arg in plain[len(plain) - len(args.defaults) :]], args.defaults, strict=True))
        defaults.update(
            {arg.arg: value for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None}
        )
        names = [arg.arg for arg in (*plain, *args.kwonlyargs)]
        extra = [arg.arg for arg in (args.vararg, args.kwarg) if arg is not None]
        line = getattr(node, "lineno", 1)
        for name in (*names, *extra):
            unit.bind(name, Binding("param", defaults.get(name), (), unit, None, line, key=name))
        if isinstance(unit, Unit):
            unit.parameters, unit.positional, unit.defaults = tuple(names), len(plain), defaults
            unit.vararg = args.vararg.arg if args.vararg else ""
            unit.kwarg = args.kwarg.arg if args.kwarg else ""
        self.stack.extend((value, scope, nesting, None) for value in defaults.values())

    def _lambda(self, node: ast.Lambda, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        inner = Scope("lambda", "<lambda>", node, scope, self.module)
        self.module.inner[node] = inner
        self._parameters(node.args, inner, scope, nesting, node)
        self.stack.append((node.body, inner, nesting, statement))
        return False

    def _class(self, node: ast.ClassDef, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        inner = ClassScope("class", node.name, node, scope, self.module, bases=list(node.bases))
        self.module.classes.append(inner)
        scope.bind(node.name, Binding("class", None, (), scope, nesting, node.lineno, target=inner, statement=node))
        self._push_all(node.body, inner, nesting)
        self.stack.extend((decorator, scope, nesting, statement) for decorator in (*node.decorator_list, *node.bases))
        return False

    def _comprehension(self, node: _Comprehension, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        inner = Scope("comprehension", "<comprehension>", node, scope, self.module)
        self.module.inner[node] = inner
        items: list[_Item] = []
        for generator in node.generators:
            binding = Binding("for", generator.iter, (), inner, nesting, node.lineno, statement=node)
            self.binder.bind(generator.target, binding)
            items.extend((expr, inner, nesting, statement) for expr in (generator.iter, *generator.ifs))
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        items.extend((part, inner, nesting, statement) for part in parts)
        self.stack.extend(reversed(items))
        return False

    def _result(self, node: _Result, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        if node.value is not None:
            results = scope.unit.returns if isinstance(node, ast.Return) else scope.unit.yields
            results.append((node.value, scope))
            if nesting is not None:
                scope.unit.results_within[node.value] = nesting
        return True

    def _declare(self, node: ast.Global | ast.Nonlocal, scope: Scope, nesting: _Nesting, statement: _Statement) -> bool:
        scope.outer_names.update(node.names)
        return False


_VISITS: dict[str, tuple[type, ...]] = {
    "load": (ast.Name, ast.Attribute), "constant": (ast.Constant,), "call": (ast.Call,),
    "compare": (ast.Compare,), "assign": get_args(_Assign),
    "augment": (ast.AugAssign,), "loop": get_args(_Loop), "with": (ast.With, ast.AsyncWith),
    "except": (ast.ExceptHandler,), "import": (ast.Import, ast.ImportFrom), "function": get_args(_Function),
    "lambda": (ast.Lambda,), "class": (ast.ClassDef,), "comprehension": get_args(_Comprehension),
    "result": get_args(_Result), "declare": (ast.Global, ast.Nonlocal),
}  # fmt: skip


def _named_function(node: _Assign) -> ast.FunctionDef | None:
    """Return the function that a lambda is which hands on to another one: ``log = lambda text: show(text, path)``."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    made = node.value
    if not isinstance(target, ast.Name) or not isinstance(made, ast.Lambda):
        return None
    if not isinstance(made.body, ast.Call) or not isinstance(made.body.func, ast.Name):
        return None
    body = ast.copy_location(ast.Return(value=made.body), made.body)
    return ast.copy_location(
        ast.FunctionDef(name=target.id, args=made.args, body=[body], decorator_list=[], returns=None), node
    )


def _is_accessor(node: _Function) -> bool:
    """``@name.setter``: what is read by the name stays what was defined before."""
    decorators = (decorator for decorator in node.decorator_list if isinstance(decorator, ast.Attribute))
    return any(decorator.attr in {"setter", "deleter"} for decorator in decorators)


def _imported_by_call(node: ast.expr) -> str:
    """Return the module in ``importlib.import_module("package.module")``, empty for anything else."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return ""
    name = node.args[0]
    is_text = isinstance(name, ast.Constant) and isinstance(name.value, str)
    return name.value if is_text and called_name(node) == "import_module" else ""  # type: ignore[attr-defined]


def _import_target(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, str]:
    """Dotted name that is imported, with leading dots, and the name it is bound to."""
    if isinstance(node, ast.Import):
        return (alias.name, alias.asname) if alias.asname else (alias.name.split(".")[0],) * 2
    base = "." * node.level + (node.module or "")
    if alias.name == "*":
        return base, "*"
    joined = base + alias.name if base.endswith(".") or not base else f"{base}.{alias.name}"
    return joined, alias.asname or alias.name
