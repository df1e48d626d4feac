"""Imports within a package go one way: no circle of files, and none of the folders and files in any folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PACKAGES = sorted(path.parent.name for path in (SOURCE / "deviate").glob("*/__init__.py"))

Graph = dict[str, set[str]]


def import_graph(source: Path, package: str) -> Graph:
    """Map each module below ``deviate.PACKAGE`` to those it imports, within functions and for type checks too."""
    files = {module_name(path, source): path for path in (source / "deviate" / package).rglob("*.py")}
    return {name: set(imported(name, path, files)) - {name} for name, path in files.items()}


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(name: str, path: Path, files: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that a file names in import statements; ``from a import b`` is ``a.b`` where that is one."""
    base = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            above = base[: len(base) + 1 - node.level] if node.level else []
            start = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                yield next((one for one in (f"{start}.{alias.name}", start) if one in files), name)


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that reach each other."""
    reach = {node: reachable(node, graph) for node in graph}
    groups = {frozenset(other for other in reach[node] if node in reach[other]) for node in graph}
    return sorted(sorted(group) for group in groups if group)


def reachable(node: str, graph: Graph) -> set[str]:
    """Return what can be reached from a node by at least one arrow."""
    reached: set[str] = set()
    waiting = [node]
    while waiting:
        fresh = graph.get(waiting.pop(), set()) - reached
        reached |= fresh
        waiting.extend(fresh)
    return reached


def folded(graph: Graph, folder: str) -> Graph:
    """Return the graph of the files and folders directly in a folder, each folder as one node."""
    depth = folder.count(".") + 2
    result: Graph = {}
    for name, targets in graph.items():
        if name.startswith(f"{folder}."):
            node = ".".join(name.split(".")[:depth])
            inside = {".".join(one.split(".")[:depth]) for one in targets if one.startswith(f"{folder}.")}
            result.setdefault(node, set()).update(inside - {node})
    return result


def folders(graph: Graph) -> set[str]:
    return {name.rpartition(".")[0] for name in graph if name.count(".") > 1}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_within_a_package(package: str) -> None:
    graph = import_graph(SOURCE, package)
    tied = circles(graph) + [circle for folder in sorted(folders(graph)) for circle in circles(folded(graph, folder))]
    assert not tied, "\n".join(" <-> ".join(circle) for circle in tied)


def test_a_circle_is_seen_wherever_the_import_stands(tmp_path: Path) -> None:
    package = tmp_path / "deviate" / "house"
    (package / "roof").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "roof" / "__init__.py").touch()
    (package / "cellar.py").write_text("def dig():\n    from deviate.house.wall import build\n")
    (package / "wall.py").write_text("from . import cellar\n")
    (package / "roof" / "tile.py").write_text("from deviate.house import wall\n")
    assert circles(import_graph(tmp_path, "house")) == [["deviate.house.cellar", "deviate.house.wall"]]


def test_a_circle_of_folders_is_seen_where_no_files_form_one(tmp_path: Path) -> None:
    package = tmp_path / "deviate" / "house"
    for folder in ("roof", "floor"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "roof" / "tile.py").write_text("from deviate.house.floor import board\n")
    (package / "roof" / "nail.py").touch()
    (package / "floor" / "board.py").touch()
    (package / "floor" / "lamp.py").write_text("import deviate.house.roof.nail\n")
    graph = import_graph(tmp_path, "house")
    assert circles(graph) == []
    assert circles(folded(graph, "deviate.house")) == [["deviate.house.floor", "deviate.house.roof"]]
