"""Make one experiment here, with ``--set warm=true``, on a Slurm and on a Ray, and look whether all are the same.

    python benchmarks/faults/alike.py [--project examples/digits_mlp] [--runs 3] > alike.json

Prints a table on standard error and one JSON object on standard output; it needs what ``engines.py`` needs. Everything
is held fixed (``--vary control``), so that each way must record the same values, bit for bit, with the same
fingerprints. Of the two reports, the places where they differ are listed: names and times alone may.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import engines

WAYS = {"local": "-j 2", "warm": "-j 2 --set warm=true", "slurm": "--executor slurm", "ray": "--executor ray"}

#: Places of a report that hold times, or say where and how a run was started.
VARYING = re.compile(
    r"second|_s\b|\btime|memory|created|generated|started|experiment|command|host|slot|cores|lane|threads|/value$"
)


def main() -> int:
    """Make the experiments and compare them with the first; return 1 where a value or a fingerprint differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[2] / "examples" / "digits_mlp")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        shutil.copytree(options.project, project, ignore=shutil.ignore_patterns(".deviate", "__pycache__"))
        made = {way: make(way, project, options.runs, Path(name)) for way in WAYS}
    result = {way: compare(made["local"], other) for way, other in made.items()}
    print("| way | values | unequal values | unequal fingerprints | other differences |", file=sys.stderr)
    print("|---|---:|---:|---:|---|", file=sys.stderr)
    for way, one in result.items():
        numbers = f"{one['values']} | {one['unequal_values']} | {one['unequal_fingerprints']}"
        print(f"| {way} | {numbers} | {', '.join(one['differences']) or 'none'} |", file=sys.stderr)
    print(json.dumps(result, indent=1))
    return int(any(one["unequal_values"] or one["unequal_fingerprints"] for one in result.values()))


def make(way: str, project: Path, runs: int, scratch: Path) -> dict[str, Any]:
    """Make the runs in one way, and return the report and the recorded values by run, metric and iteration."""
    with engines.ENGINES[way](scratch / way) if way in engines.ENGINES else nullcontext():
        words = ["run", "-n", str(runs), "--vary", "control", "--set", "share=none", "--name", way, *WAYS[way].split()]
        deviate([*words, "--", sys.executable, "train.py"], project)
        # A cluster is left to it: the same command again waits for its runs.
        deviate([*words, "--", sys.executable, "train.py"], project)
    report, records = scratch / f"{way}.json", scratch / f"{way}.csv"
    for path in (report, records):
        deviate(["report", way, "-o", str(path)], project)
    with records.open(newline="") as rows:
        values = {
            (row["run"], row["metric"], row["iteration"]): row["value"]
            for row in csv.DictReader(rows)
            if not VARYING.search(row["metric"])
        }
    return {"report": json.loads(report.read_text()), "values": values}


def deviate(words: list[str], project: Path) -> None:
    """Have Deviate do something, or stop with what it prints."""
    done = subprocess.run([sys.executable, "-m", "deviate", *words], cwd=project, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"deviate {' '.join(words)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def compare(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Count the values and the fingerprints that differ, and name other places of the report that do."""
    places = {*first["values"], *other["values"]}
    mine, theirs = (dict(leaves(made["report"])) for made in (first, other))
    unequal = sorted(place for place in {*mine, *theirs} if mine.get(place) != theirs.get(place))
    prints = [place for place in unequal if "/fingerprints/" in place]
    rest = [place for place in unequal if place not in prints and not VARYING.search(place)]
    return {
        "values": len(other["values"]),
        "unequal_values": sum(first["values"].get(place) != other["values"].get(place) for place in places),
        "unequal_fingerprints": len(prints),
        "differences": {place: [mine.get(place), theirs.get(place)] for place in rest},
    }


def leaves(node: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a report with their places; those of times are left out, with all that is said of them."""
    if isinstance(node, dict):
        if node.get("kind") == "speed":
            return
        for key, value in node.items():
            yield from leaves(value, f"{place}/{key}")
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from leaves(value, f"{place}/{at}")
    else:
        yield place, node


if __name__ == "__main__":
    raise SystemExit(main())
