"""Run Deviate where something is wrong, and count tracebacks, wrong exit statuses, slow answers and wrong numbers.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/commands.py [--only WORD] > commands.json

Each case is a real command in a project of its own: closed and full outputs, numbers that are slips, odd projects,
damaged workspaces, hostile files to import. It must end within its time and memory, with an exit status of the contract
and without a traceback, and what it imports must be what the file holds. Imports run in forks of this process, which
has imported the libraries; all others are processes of their own.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forks import forked, typed, warm
from harness import MEMORY, RUN, Case, finish, judged_case, make_project, run_case
from hostile import import_cases, sparse


def main() -> None:
    """Run the cases, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="cases whose group or name holds this word")
    options = parser.parse_args()
    warm()
    chosen = [case for case in cases() if options.only in f"{case.group}, {case.name}"]
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (import_case if case.group == "import" else run_case)(Path(folder) / str(index), case)
            for index, case in enumerate(chosen)
        ]
    finish(rows, **vars(options))


def import_case(project: Path, case: Case) -> dict[str, Any]:
    """Run one case in a fork of this process, with as much memory more as a command may take."""
    make_project(project)
    case.harm(project)
    ended = typed(project, shlex.split(case.words), {}, memory=MEMORY)

    def check() -> str:
        # What reads starts threads, after which nothing may fork.
        checked = forked(lambda: print(case.check(project), end=""), project, {})
        return checked.errors or checked.printed

    return judged_case(case, ended, check)


def cases() -> Iterator[Case]:
    """Yield the cases that need no rights."""
    reading = ["list", "show train", "report train", "report train --format json", "report train --format html",
               "extract train.py", "extract train.py --diff", "logs train 0", "plan --set sd=1 --difference 1",
               "--help", "import table.csv --name t --set replace=true", RUN]  # fmt: skip
    for words in reading:
        yield Case("output", f"{words.split(' -- ')[0]} >&-", f"{words} >&-", statuses=(0,), after_run=True)
        yield Case(
            "output", f"{words.split(' -- ')[0]} >/dev/full", f"{words} >/dev/full", statuses=(1,), after_run=True
        )
    yield Case("output", "all streams closed", f"{RUN} <&- >&- 2>&-", statuses=(0,))
    yield Case("output", "messages to a full device", f"{RUN} 2>/dev/full", statuses=(0,))
    for words in ("-n 1000000000", "-n 0", "-j 1000000000", "--until 'loss ±1%' --max 1000000000", "--set timeout=nan"):
        yield Case("numbers", words, f"run {words} -- {shlex.quote(sys.executable)} train.py")
    yield from project_cases()
    yield from workspace_cases()
    yield from import_cases()


def project_cases() -> Iterator[Case]:
    """Yield the cases of odd files in the project."""
    yield Case("project", "links to themselves", RUN, self_links, (0,))
    yield Case("project", "named pipe", RUN, lambda project: os.mkfifo(project / "conf.yaml"), (0,))
    yield Case("project", "files of 1 GiB without content", RUN, sparse_files, (0,))
    yield Case("project", "20,000 files", RUN, many_files, (0,))
    excluded = RUN.replace("run ", "run --set exclude=train.py ")
    yield Case("project", "excluded entry", excluded)
    yield Case("project", "deep expression", RUN, lambda project: append(project, "\nx = " + "+".join("1" * 100_000)))
    yield Case("project", "entry in bytes of no encoding", RUN, lambda project: append(project, b"\n# \xff\xfe\n"),
               (1,))  # fmt: skip
    yield Case("project", "settings of no encoding", RUN, lambda project: write(project / "deviate.toml", b"\xff"))
    yield Case("project", "settings are a folder", RUN, lambda project: (project / "deviate.toml").mkdir())


def workspace_cases() -> Iterator[Case]:
    """Yield the cases of a workspace that is not as it was."""
    more = RUN.replace("-n 2", "-n 3")
    yield Case("workspace", "a file in its place", RUN, lambda project: write(project / ".deviate", b""))
    yield Case("workspace", "a link to itself", RUN, lambda project: (project / ".deviate").symlink_to(".deviate"))
    for name, words, statuses in (("runs are added", more, (2,)), ("report", "report train", (0,))):
        yield Case("workspace", f"deleted copy, {name}", words, lambda p: remove(p, "snapshot"), statuses, True)
        yield Case("workspace", f"deleted file of the copy, {name}", words, lambda p: remove(p, "snapshot/train.py"),
                   statuses, True)  # fmt: skip
        yield Case("workspace", f"deleted runs, {name}", words, lambda p: remove(p, "runs"), (0,), True)
        yield Case(
            "workspace", f"deleted snapshot.json, {name}", words, lambda p: remove(p, "snapshot.json"), (2,), True
        )
        yield Case("workspace", f"stored file of no encoding, {name}", words,
                   lambda p: write(p / ".deviate/experiments/train/experiment.json", b"\xff"), (2,), True)  # fmt: skip


def self_links(project: Path) -> None:
    """Make links that lead to themselves, up, and nowhere."""
    for name, target in (("loop", "loop"), ("a", "b"), ("b", "a"), ("up", ".."), ("gone", "/nowhere/x")):
        (project / name).symlink_to(target)


def sparse_files(project: Path) -> None:
    """Make large files that take no space."""
    for name in ("data.bin", "other.py", "conf.yaml"):
        sparse(project / name)


def many_files(project: Path) -> None:
    """Make more files than are copied one by one."""
    (project / "many").mkdir()
    for index in range(20_000):
        (project / "many" / f"{index}.txt").touch()


def write(path: Path, data: bytes) -> None:
    """Write a file."""
    path.write_bytes(data)


def append(project: Path, text: str | bytes) -> None:
    """Add to the program."""
    with (project / "train.py").open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def remove(project: Path, name: str) -> None:
    """Remove a part of the experiment."""
    path = project / ".deviate" / "experiments" / "train" / name
    subprocess.run(["rm", "-rf", str(path)], check=True)


if __name__ == "__main__":
    main()
