"""Kill commands that move, thin out and pack experiments at random moments, type them again, and look what is lost.

    python benchmarks/faults/housekeeping.py [--times 24] [--only NAME] [--seed 0] > housekeeping.json

Prints a table on standard error and one JSON object on standard output. Each command is killed in a fork of this
process, every other time before one of its calls to the file system, chosen at random among all that it makes, else
after a random share of the time that it takes. Whatever is then there under a name must be whole; the same command must
do the rest, or say that it was done; the report of the experiment must be as it was, and another experiment must have
the bytes that it had.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from forks import command, forked, status_of, typed, warm
from harness import RUN, deviate, finish, make_project

from deviate.__main__ import command as main_of_the_tool

#: Calls that change what is stored, or find it, as the interpreter tells them before they are made.
CALLS = frozenset(
    {"open", "os.chmod", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"}
    | {"os.scandir", "os.truncate", "os.utime", "shutil.rmtree"}
)
OTHER = "two"

#: The experiments that commands are typed for, by the word that means them: one, and the cells of a grid.
MADE = {"one": ("one",), "grid": ("grid@lr=0.1", "grid@lr=1")}


class Case(NamedTuple):
    """A command that is killed."""

    words: list[str]
    of: str
    #: What each of its experiments is called after it; None where they keep their names.
    after: tuple[str, ...] | None = None
    #: It leaves, or reads, the archive.
    archives: bool = False
    imports: bool = False
    #: Its exit status where it had done all before it was killed.
    done: int = 2

    @property
    def template(self) -> str:
        """The project that it is typed in."""
        return f"{self.of}-packed" if self.imports else f"{self.of}-made"

    @property
    def before(self) -> tuple[str, ...]:
        """What each of its experiments is called before it; empty where it is not there."""
        return ("",) * len(MADE[self.of]) if self.imports else MADE[self.of]

    @property
    def archive(self) -> str:
        """The file that it leaves or reads."""
        return archive_of(self.of)


def archive_of(word: str) -> str:
    """Return the file that an experiment or a grid is exported to."""
    return f"{word}.tar.gz"


CASES = {
    "export": Case(["export", "one"], "one", archives=True),
    "import": Case(["import", archive_of("one"), "--name", "copy"], "one", ("copy",), imports=True),
    "mv": Case(["mv", "one", "moved"], "one", ("moved",)),
    "prune": Case(["prune", "one", "--yes"], "one"),
    "rm": Case(["rm", "one", "--yes"], "one", ("",)),
    "export-grid": Case(["export", "grid@*"], "grid", archives=True),
    "import-grid": Case(["import", archive_of("grid"), "--name", "copy"], "grid", ("copy@lr=0.1", "copy@lr=1"),
                        imports=True, done=0),
    "mv-grid": Case(["mv", "grid", "moved"], "grid", ("moved@lr=0.1", "moved@lr=1")),
    "prune-grid": Case(["prune", "grid", "--yes"], "grid"),
    "rm-grid": Case(["rm", "grid@*", "--yes"], "grid", ("", "")),
}  # fmt: skip


def main() -> None:
    """Make the rounds, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=24, help="kills of each command")
    parser.add_argument("--only", choices=CASES, help="one of the commands")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, rows = random.Random(options.seed), []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        make_templates(base)
        warm()
        project = base / "project"
        for name, case in CASES.items():
            if options.only not in (None, name):
                continue
            template = base / case.template
            fresh(project, base / f"{case.of}-made")
            truth = [report(project, each) for each in MADE[case.of]]
            calls, seconds = measured(fresh(project, template), case.words)
            print(f"{name}: {calls} calls, {seconds:.2f} s", file=sys.stderr)
            number = 0
            while number < options.times:
                fresh(project, template)
                at = {"call": rng.randint(1, calls)} if number % 2 else {"seconds": rng.uniform(0, seconds)}
                row = {"group": name, "name": str(at), **round_of(project, case, truth, at)}
                # Of a command that had ended nothing was killed.
                rows += [row] if row["killed"] or row["problem"] else []
                number += row["killed"]
                seconds *= 1 if row["killed"] else 0.9
    finish(rows, **vars(options))


def make_templates(base: Path) -> None:
    """Make projects with the experiments of a word and another one, and such where those are an archive instead."""
    for word, names in MADE.items():
        made, packed = base / f"{word}-made", base / f"{word}-packed"
        make_project(made)
        with (made / "train.py").open("a") as program:
            program.write("open('model.txt', 'w').write('x' * 100_000)\n")
        for name in (*names, OTHER):
            if deviate(made, RUN.replace("--name train", f"--name {name}"))["status"]:
                sys.exit("the runs were not made")
        shutil.copytree(made, packed, symlinks=True)
        for words in (f"export {word}", f"rm {word} --yes"):
            if deviate(packed, words)["status"]:
                sys.exit(f"not done: {words}")


def fresh(project: Path, template: Path) -> Path:
    """Make the project anew."""
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(template, project, symlinks=True)
    return project


def measured(project: Path, words: list[str]) -> tuple[int, float]:
    """Return how many calls an undisturbed command makes, and the seconds that it takes."""
    counted = project.with_name("calls")
    began = time.monotonic()
    ended = forked(lambda: counting(words, lambda number: None, counted), project, {"PWD": str(project)})
    if ended.status:
        sys.exit(f"{words} fails without any kill: {ended.errors}")
    return int(counted.read_text()), time.monotonic() - began


def counting(words: list[str], each: Callable[[int], None], counted: Path | None = None) -> None:
    """Type a command, and call a function before each of its calls to the file system."""
    number = 0

    def hook(event: str, arguments: object) -> None:
        nonlocal number
        if event in CALLS:
            number += 1
            each(number)

    sys.argv = ["deviate", *words]
    sys.addaudithook(hook)
    status = status_of(main_of_the_tool)
    if counted is not None:
        counted.write_text(str(number))
    sys.exit(status)


def killed(project: Path, words: list[str], call: int = 0, seconds: float = 0.0) -> int:
    """Type a command that is killed before its `call`-th call, or after so many seconds; return its exit status."""

    def kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        if seconds:
            timer = threading.Timer(seconds, kill)
            timer.daemon = True
            timer.start()
        counting(words, lambda number: kill() if number == call else None)

    return forked(work, project, {"PWD": str(project)}).status


def round_of(project: Path, case: Case, truth: list[Any], at: dict[str, Any]) -> dict[str, Any]:
    """Kill the command once, type it again, and look what is lost."""
    began = time.monotonic()
    other = digests(project, OTHER)
    first = killed(project, case.words, **at)
    problem = "" if first in (0, -signal.SIGKILL) else f"status {first}"
    after = case.after or case.before
    problem = problem or wrong(project, case, truth, (case.before, after))
    was_done = not problem and case.before != after and names(project) == sorted(filter(None, after))
    again = typed(project, case.words, {})
    # What was done before the kill cannot be done again, and the message says so.
    if not problem and again["status"] != (case.done if was_done else 0):
        problem = f"the same command: status {again['status']} {again['message']}"
    problem = problem or again["problem"] or wrong(project, case, truth, (after,))
    if not problem and digests(project, OTHER) != other:
        problem = "another experiment was changed"
    return {"status": again["status"], "message": again["message"], "seconds": round(time.monotonic() - began, 1),
            "killed": int(first != 0), "problem": problem}  # fmt: skip


def wrong(project: Path, case: Case, truths: list[Any], allowed: tuple[tuple[str, ...], ...]) -> str:
    """Return what is wrong with what is there; empty where nothing is. Each experiment has one of `allowed` names."""
    there = set(names(project))
    for truth, *ways in zip(truths, *allowed, strict=True):
        found = [way for way in dict.fromkeys(ways) if way in there]
        if len(found) != 1 and not ("" in ways and not found):
            return f"experiments: {sorted(there)}"
        if found and report(project, found[0]) != truth:
            return f"the report of {found[0]} is another"
        there -= set(found)
    if there:
        return f"experiments that nobody made: {sorted(there)}"
    if (project / case.archive).exists() and case.archives:
        taken = command(project, ["import", case.archive, "--name", "taken"], {"PWD": str(project)})
        cells = [each.replace(case.of, "taken", 1) for each in MADE[case.of]]
        if taken.status or [report(project, each) for each in cells] != truths:
            return f"the archive is not whole: {taken.errors}"
        for each in cells:
            shutil.rmtree(project / ".deviate/experiments" / each)
    return ""


def names(project: Path) -> list[str]:
    """Return the experiments there are beside the other one."""
    listed = command(project, ["list", "--json"], {"PWD": str(project)})
    return [each["name"] for each in json.loads(listed.printed)["experiments"] if each["name"] != OTHER]


def report(project: Path, name: str) -> Any:
    """Return what a report says of the runs and their values."""
    said = command(project, ["report", name, "--format", "json"], {"PWD": str(project)})
    with contextlib.suppress(ValueError):
        variant = json.loads(said.printed)["variants"][0]
        return variant["metrics"], variant["runs"]
    return said.errors


def digests(project: Path, name: str) -> dict[str, str]:
    """Return the digest of each file of an experiment."""
    folder = project / ".deviate/experiments" / name
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


if __name__ == "__main__":
    main()
