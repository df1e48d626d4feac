"""Score which factor each draw of labelled projects is said to be of, with every rule and with each one left out.

    python benchmarks/factors/draws_by_rule.py PROJECTS [--half deciding|held-out|all] [--labels FILE] [--verbose]

PROJECTS holds the projects as folders named owner+name, or as git directories of that name (bare or not), of which the
labelled commit is taken out into a temporary folder. A project that is not there is left out and named.
The labels beside this script say, of projects that the rules were not written on, which factor each draw of their own
files is of, by file, line and call; where two can be argued for, both are listed, and the draw is counted apart.
The rules were chosen on the half ``deciding``; the other half was read once, when they were final.

A factor that is right counts 1, an honest ``other`` 0 and a wrong factor -2. Two errors are also counted by themselves:
draws of the training that are held as data, and draws of the data that vary with the training.
Prints a table on standard error and one JSON object with the same figures on standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest import mock

from deviate.core.errors import DeviateError
from deviate.core.experiment import Draw
from deviate.source import analysis
from deviate.source.draws import classify, roles
from deviate.source.draws.classify import find_draws

LABELS = Path(__file__).parent / "draw_labels.json"
COUNTS = ("right", "wrong", "other", "held_as_data", "data_varies", "score")
WRONG = -2

#: What is left out: an attribute of a module with the value it then has.
Change = tuple[object, str, object]


def changes() -> Iterator[tuple[str, Change | None]]:
    """Yield everything, and each rule and each row of the tables left out."""
    yield "all rules", None
    for rule in classify.RULES:
        yield (
            f"no rule '{rule.name}'",
            (classify, "RULES", tuple(other for other in classify.RULES if other is not rule)),
        )
    for module, name in (
        (roles, "_BASES"),
        (roles, "_CLASS_NAMES"),
        (roles, "_METHODS"),
        (roles, "_NAMES"),
        (classify, "_TARGETS"),
    ):
        rows = getattr(module, name)
        for index, row in enumerate(rows):
            title = f"no {name.strip('_').lower()}: {row[0]} {row[1].pattern[:24]}"
            yield title, (module, name, rows[:index] + rows[index + 1 :])
    yield "no callers", (classify, "MAX_LEVELS", 1)


def analyse(root: Path, entry: str) -> dict[str, list[Draw]]:
    """Return the draws that a project has by each change."""
    draws: dict[str, list[Draw]] = {}

    def all_ways(*program: Any) -> list[Draw]:
        for name, change in changes():
            if change is None:
                draws[name] = find_draws(*program)
            else:
                with mock.patch.object(*change):
                    draws[name] = find_draws(*program)
        return draws["all rules"]

    with mock.patch.object(analysis, "find_draws", all_ways):
        analysis.analyse_project(root, Path(entry))
    return draws


def judge(factor: str, label: str | list[str]) -> Iterator[str]:
    """Yield the counts that one draw adds to."""
    allowed = [label] if isinstance(label, str) else label
    outcome = "right" if factor in allowed else "other" if factor == "other" else "wrong"
    if not isinstance(label, str):
        yield f"arguable_{outcome}"
        return
    yield outcome
    if factor == "data" and label != "data":
        yield "held_as_data"
    if factor != "data" and label == "data":
        yield "data_varies"


def score_project(label: dict[str, Any], folder: Path, verbose: bool) -> dict[str, Counter[str]]:
    """Count, by each change, what is said of a project's draws; each draw once, whichever entries reach it."""
    counts: dict[str, Counter[str]] = {}
    factors = {(draw["file"], draw["line"], draw["call"]): draw["factor"] for draw in label["draws"]}
    seen: set[tuple[str, Draw]] = set()
    for entry in label["entries"]:
        for change, draws in analyse(folder / entry["root"], entry["entry"]).items():
            for draw in draws:
                file = os.path.normpath(os.path.join(entry["root"], draw.file))
                key = (file, draw.line, draw.call)
                where = (change, file, draw.line, draw.call, str(draw.span))
                if where in seen:
                    continue
                seen.add(where)
                outcomes = list(judge(draw.factor, factors[key])) if key in factors else ["unlabelled"]
                counts.setdefault(change, Counter()).update(outcomes)
                if verbose and change == "all rules" and outcomes[0] != "right":
                    place = f"{label['repo']} {file}:{draw.line} {draw.call}"
                    print(f"{place}: {factors.get(key)}, said {draw.factor}: {draw.why}", file=sys.stderr)
    return counts


def checkout(label: dict[str, Any], projects: Path, scratch: Path) -> Path | None:
    """Return the folder of a project, taken out of its git directory where it is not checked out."""
    here = projects / label["repo"].replace("/", "+")
    if not here.is_dir():
        return None
    if not (here / "HEAD").is_file():
        return here
    target = scratch / here.name
    command = ["git", "-C", str(here), "archive", label["commit"]]
    with tarfile.open(fileobj=BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)) as packed:
        packed.extractall(target, filter="data")
    return target


def table(totals: dict[str, Counter[str]]) -> str:
    """Lay the counts out, differences to all rules beside those of each change."""
    whole = totals["all rules"]
    lines = [f"{'':48}" + "".join(f"{name:>14}" for name in COUNTS)]
    for change, counts in totals.items():
        cells = [
            f"{counts[name]}" + (f" ({counts[name] - whole[name]:+})" if counts[name] != whole[name] else "")
            for name in COUNTS
        ]
        lines.append(f"{change[:47]:48}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    """Score, and print table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", type=Path, help="folder of the projects")
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--half", choices=("deciding", "held-out", "all"), default="all")
    parser.add_argument("--verbose", action="store_true", help="list each draw whose factor is not right")
    options = parser.parse_args()
    labels = json.loads(options.labels.read_text(encoding="utf-8"))
    totals: dict[str, Counter[str]] = {name: Counter() for name, _ in changes()}
    left_out = []
    for label in labels:
        if options.half not in {"all", label["half"]}:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                folder = checkout(label, options.projects, Path(scratch))
                counts = score_project(label, folder, options.verbose) if folder is not None else None
            except (DeviateError, OSError, subprocess.CalledProcessError) as problem:
                left_out.append(f"{label['repo']}: {problem}")
                continue
        if counts is None:
            left_out.append(f"{label['repo']}: not in {options.projects}")
        for change, more in (counts or {}).items():
            totals[change].update(more)
    for counts in totals.values():
        counts["score"] = counts["right"] + WRONG * counts["wrong"]
    print(table(totals), file=sys.stderr)
    print(
        json.dumps(
            {"benchmark": "draws-by-rule", "half": options.half, "left_out": left_out, "counts": totals}, indent=1
        )
    )


if __name__ == "__main__":
    main()
