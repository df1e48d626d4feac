"""Import 2,000 archives that a stranger may have made, and use what is taken of them.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/archives.py --times 2000 > archives.json

Each is a variant of an exported experiment (see `tars`). What `deviate import` takes is reported, shown, listed,
thinned out, renamed, exported and removed. No byte outside of the workspace may change, no command may end in a
traceback, take more than a GiB beyond what the process has, or more than 60 seconds of processor time, and nothing of a
refused archive may be left. Commands run in forks of this process.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from forks import command, warm
from harness import RUN, SECONDS, deviate, finish, judged_end, make_project
from tars import Item, read, variant

#: Bytes that a command may take.
MEMORY = 1 << 30

#: What these commands import.
WARM = (
    "cli.import_", "cli.report", "cli.show", "cli.list", "cli.keep",
    "runs.housekeeping", "imports.build", "facts.live", "report.writers.contracts", "cli.options",
)  # fmt: skip

#: What is typed where an archive was taken.
AFTER = (
    "report y --json",
    "show y",
    "list",
    "prune --yes y",
    "mv y z",
    "export z -o z.tar.gz",
    "rm --yes z",
    "rm --yes y",
)


def main() -> None:
    """Make the good archive, and try its variants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch).resolve()
        good = make_good(base)
        warm()
        for module in WARM:
            importlib.import_module(f"deviate.{module}")
        rows = [tried(base, good, number) for number in range(asked.first, asked.first + asked.times)]
    print(f"most memory: {max(row['memory'] for row in rows) >> 20} MiB", file=sys.stderr)
    finish(rows, times=asked.times)


def make_good(base: Path) -> list[Item]:
    """Return the members of an experiment with two runs and their working folders; lay out what must not change."""
    project, outside = base / "project", base / "outside"
    make_project(project)
    (project / "data").mkdir()
    (project / "data" / "set.txt").write_text("1 2 3\n")
    deviate(project, RUN)
    deviate(project, "export train --with-work -o good.tar.gz")
    good = read(project / "good.tar.gz")
    (outside / "run" / "work" / "letters").mkdir(parents=True)
    (outside / "notes.txt").write_text("mine\n")
    (outside / "run" / "work" / "letters" / "1.txt").write_text("dear\n")
    for path in (project / ".deviate" / "experiments" / "train" / "runs" / "algo+impl-0").glob("*.*"):
        if path.is_file() and ".parquet" not in path.name:
            shutil.copy(path, outside / "run")
    shutil.rmtree(project / ".deviate")
    return good


def state(base: Path) -> str:
    """Digest all outside of the workspace."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(base):
        folders[:] = sorted(name for name in folders if name != ".deviate")
        for name in sorted([*folders, *files]):
            path = Path(parent, name)
            if path.suffix != ".gz":
                digest.update(
                    f"{path} {os.readlink(path) if path.is_symlink() else ''}".encode("utf-8", "surrogateescape")
                )
                digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def tried(base: Path, good: list[Item], number: int) -> dict[str, Any]:
    """Import one variant, and use what was taken."""
    project = base / "project"
    group, data = variant(good, number, base / "outside")
    (project / "a.tar.gz").write_bytes(data)
    del data
    before = state(base)
    row = used(project, "import a.tar.gz --name y")
    left = [path.name for path in (project / ".deviate" / "experiments").glob("*")]
    if row["status"] and left:
        row["problem"] = row["problem"] or f"left behind: {left}"
    later = [used(project, words) for words in AFTER] if not row["status"] else []
    row["problem"] = next((each["problem"] for each in (row, *later) if each["problem"]), "")
    for key in ("seconds", "memory"):
        row[key] = max(each[key] for each in (row, *later))
    if state(base) != before:
        row["problem"] = "something outside of the workspace was changed"
    shutil.rmtree(project / ".deviate", ignore_errors=True)
    if row["problem"] or number % 100 == 0:
        print(number, group, row, file=sys.stderr, flush=True)
    return {"group": group, "name": str(number), **row}


def used(project: Path, words: str) -> dict[str, Any]:
    """Type a command, and judge how it ended, how long it used the processor and how much memory it held."""
    # Other programs of the machine may have the processor.
    ended = command(project, words.split(), {}, MEMORY, seconds=5 * SECONDS)
    row = judged_end(ended.status, ended.printed, ended.errors, 0.0, late=ended.late or ended.seconds > SECONDS)
    problem = row["problem"] and f"{words}: {row['problem']} {ended.errors[-600:]}"
    return {**row, "problem": problem, "seconds": round(ended.seconds, 1), "memory": ended.memory}


if __name__ == "__main__":
    main()
