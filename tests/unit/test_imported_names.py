"""Scripts beside the package import names that it has: nobody runs all of them after each change."""

from __future__ import annotations

import ast
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
