"""Try Deviate with other versions of Python, of its dependencies and of the frameworks.

    python benchmarks/versions/run.py SCRATCH [--cell NAME]... [--results FILE] [--python FOLDER]

Each cell of cells.toml is a virtual environment under SCRATCH, deleted when the cell is done. Interpreters are taken
from the folders of --python, from pyenv and from the PATH. Cells that the file of --results holds are not run again,
unless they are named.

Prints a Markdown table on standard error and one JSON object with the same on standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from cell import run_cell
from table import table

HERE = Path(__file__).parent


def main() -> None:
    """Run the cells, and print table and JSON."""
    options = parse_options()
    cells = tomllib.loads((HERE / "cells.toml").read_text())["cell"]
    unknown = set(options.cell) - {cell["name"] for cell in cells}
    if unknown:
        sys.exit(f"no such cell: {', '.join(sorted(unknown))}")
    results = read_results(options.results)
    for cell in cells:
        if cell["name"] in options.cell or (not options.cell and cell["name"] not in results):
            print(f"{cell['name']} ...", file=sys.stderr, flush=True)
            results[cell["name"]] = run_cell(cell, find_python(cell["python"], options.python), options.scratch)
            print(f"    {results[cell['name']]['outcome']}", file=sys.stderr, flush=True)
            write_results(options.results, results, cells)
    report = as_report(results, cells)
    print(table(report["cells"]), file=sys.stderr)
    print(json.dumps(report, indent=2))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Try Deviate with other versions.")
    parser.add_argument("scratch", type=Path, help="folder for the virtual environments")
    parser.add_argument("--cell", action="append", default=[], help="run this cell only; repeatable")
    parser.add_argument("--results", type=Path, help="keep the results of cells in this file")
    parser.add_argument("--python", type=Path, action="append", default=[], help="folder of interpreters; repeatable")
    return parser.parse_args()


def find_python(version: str, folders: list[Path]) -> str | None:
    """Return the interpreter of `version`; None if there is none."""
    if version == "here":
        return sys.executable
    pyenv = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin")
    path = os.pathsep.join(map(str, [*folders, *sorted(pyenv, reverse=True)]))
    return shutil.which(f"python{version}", path=path) or shutil.which(f"python{version}")


def read_results(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return the results that are kept in `path`, by cell."""
    if path is None or not path.exists():
        return {}
    return {cell["name"]: cell for cell in json.loads(path.read_text())["cells"]}


def write_results(path: Path | None, results: dict[str, dict[str, Any]], cells: list[dict[str, Any]]) -> None:
    """Keep the results so far."""
    if path is not None:
        path.write_text(json.dumps(as_report(results, cells), indent=2) + "\n")


def as_report(results: dict[str, dict[str, Any]], cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON object, cells in the order of cells.toml."""
    ordered = [results[cell["name"]] for cell in cells if cell["name"] in results]
    return {"benchmark": "versions", "machine": platform.machine(), "system": platform.system(), "cells": ordered}


if __name__ == "__main__":
    main()
