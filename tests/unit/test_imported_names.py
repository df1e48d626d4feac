"""Scripts beside the package import names that it has: nobody runs all of them after each change."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from tracked import tracked_files

ROOT = Path(__file__).parents[2]
SCRIPTS = tracked_files("benchmarks/*.py", "docs/*.py", "examples/*.py")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_script_imports_names_that_deviate_has(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "deviate":
            module = import_module(node.module or "")
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), f"{node.module} has no {name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_script_calls_what_it_imports_with_arguments_that_it_takes(script: Path) -> None:
    tree = ast.parse(script.read_bytes())
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "deviate"
    ]
    given = {alias.asname or alias.name: (each.module or "", alias.name) for each in imports for alias in each.names}
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for call in ast.walk(tree):
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or call.func.id not in given.keys() - own
        ):
            continue
        module, name = given[call.func.id]
        spread = any(isinstance(arg, ast.Starred) for arg in call.args) or any(key.arg is None for key in call.keywords)
        called = getattr(import_module(module), name, None)
        if callable(called) and not spread:
            keywords = {key.arg: None for key in call.keywords if key.arg is not None}
            inspect.signature(called).bind(*call.args, **keywords)
