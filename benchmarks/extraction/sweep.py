"""Analyse and instrument every Python file of some folders: nothing may raise, no line may move.

    python benchmarks/extraction/sweep.py FOLDER... [--json FILE]

By default the folders are those of the standard library and of the installed packages. Each file is analysed as an
entry of its own, in a folder by itself, and its draws are wrapped. Then not only the metrics found are wrapped but
every argument of every call, what it calls, every field of every f-string and every loop header (at most 300 a file),
and the result must parse, have as many lines as before and mean the same with the wraps taken off. Prints counts,
every fault, and one JSON object.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import sysconfig
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from deviate.core.errors import DeviateError
from deviate.core.experiment import Span
from deviate.source.analysis import analyse_project
from deviate.source.edits import Edit
from deviate.source.overlay import instrument_project, instrument_source

MOST_EDITS = 300


def python_files(folders: list[Path]) -> list[Path]:
    """Return the Python files below `folders`."""
    return sorted({path for folder in folders for path in folder.rglob("*.py") if path.is_file()})


def wrappable(tree: ast.Module) -> Iterator[Edit]:
    """Yield an edit for each place where a program may report a value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            shown = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
            yield from (edit(each, "__dv__(0, ") for each in shown)
            yield edit(node.func, "__dv_draw__(0, ")
        elif isinstance(node, ast.FormattedValue):
            yield edit(node.value, "__dv__(0, ")
        elif isinstance(node, ast.For):
            yield edit(node.iter, "__dv_loop__(")
        elif isinstance(node, ast.While):
            yield edit(node.test, "__dv_while__(")


def edit(node: ast.expr, before: str) -> Edit:
    """Return the edit that puts a call around `node`."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Edit(span=Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), before=before)


def look(path: Path, alone: Path, counts: Counter[str]) -> None:
    """Analyse and instrument one file."""
    entry = alone / "entry.py"
    data = path.read_bytes()
    entry.write_bytes(data)
    counts["files"] += 1
    counts["lines"] += data.count(b"\n")
    try:
        findings = analyse_project(alone, entry)
    except DeviateError:
        counts["refused as an entry (does not parse)"] += 1
        return
    counts["metrics"] += len(findings.metrics)
    counts.update(f"draws: {draw.factor}" for draw in findings.draws)
    counts["unreadable"] += len(findings.unreadable)
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        counts["parses only masked"] += 1
        return
    drawn = instrument_project(alone, [], None, findings.draws).values()
    counts["draws wrapped"] += sum(len(result.done) for result in drawn)
    counts.update(f"draw skipped: {skipped.reason}" for result in drawn for skipped in result.skipped)
    result = instrument_source(data, list(dict.fromkeys(wrappable(tree)))[:MOST_EDITS])
    counts["edits"] += len(result.done)
    counts.update(f"skipped: {skipped.reason}" for skipped in result.skipped)
    ast.parse(result.data)
    if result.data.count(b"\n") != data.count(b"\n"):
        raise AssertionError("lines moved")


def main() -> int:
    """Look at every file; 1 if one of them is at fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folders = options.folders or [Path(sysconfig.get_path(name)) for name in ("stdlib", "platlib")]
    counts: Counter[str] = Counter()
    faults: list[str] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as alone:
        for path in python_files(folders):
            try:
                look(path, Path(alone), counts)
            except Exception:
                faults.append(f"{path}: {traceback.format_exc(limit=-2)}")
    report = {"schema": 1, "seconds": round(time.perf_counter() - began, 1), "faults": faults, **dict(counts)}
    for key, value in report.items():
        print(f"{key:40} {value if not isinstance(value, list) else len(value)}", file=sys.stderr)
    print(json.dumps(report, indent=1))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
