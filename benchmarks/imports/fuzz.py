"""Import thousands of odd and malformed tables, and look what becomes of each.

    python benchmarks/imports/fuzz.py [--tables 2000] [--seed 0] > fuzz.json

A case is made by a generator with a seed (`tables`, `stores`): tables of text, JSON, JSON lines, logs and stores of
trackers as programs write them, most of them changed in one way or several: odd cells, names, columns, encodings and
options, ragged rows, deep nests, huge counts, stray bytes. Each is imported by the function of the command in a process
with a limit of memory, which is started anew where one ends; what was imported is reported. Accepted or refused with a
reason is right; anything else raised, a file outside of the workspace, a minute of processor time or 1 GiB are not.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from tables import Case, case

MOST_MEMORY = 1 << 30
MOST_SECONDS = 60.0

#: Beside it in the clock on the wall, since other programs of the machine may have the processor.
PATIENCE = 5 * MOST_SECONDS


class Ended(NamedTuple):
    """What became of a case."""

    outcome: str
    kind: str
    #: Of processor time.
    seconds: float = 0.0
    memory: int = 0


def import_one(home: Path, made: Case) -> str:
    """Import a case, and report what was imported; return what became of it."""
    from deviate import load
    from deviate.core.errors import DeviateError
    from deviate.imports.build import import_results
    from deviate.imports.request import ImportRequest, TableOptions

    project = home / "project"
    shutil.rmtree(home, ignore_errors=True)
    for name, data in made.files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    before = {*project.rglob("*")}
    try:
        request = ImportRequest(
            paths=[project / path for path in made.paths], project=project, table=TableOptions(**made.table),
            command=["deviate", "import", *made.paths], **made.request,
        )  # fmt: skip
        for folder in import_results(request):
            outcome = reported(load(folder.name, project=project))
    except DeviateError as problem:
        outcome = "refused" if problem.hint else f"refused without a hint: {problem}"
    except BaseException as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        outcome = f"raised {type(problem).__name__}: {place.filename.rpartition('/')[2]}:{place.lineno}: {problem}"[
            :300
        ]
    new = {path for path in home.rglob("*") if ".deviate" not in path.parts} - before - {project}
    return f"wrote {new}" if new else outcome


def reported(experiment: Any) -> str:
    """Report an experiment as JSON and as a page; say that it was imported."""
    from deviate.core.errors import DeviateError
    from deviate.report.writers.contracts import experiment_json
    from deviate.report.writers.markdown import render_markdown

    try:
        view = experiment.report()
        json.loads(experiment_json(view.facts))
        render_markdown(view.page("full"))
    except DeviateError as problem:
        return f"imported, and not reported: {problem}"[:300]
    return "imported"


def most_memory() -> int:
    """Return the most memory that this process held since `forget_memory`."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


def forget_memory() -> None:
    """Let `most_memory` begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def work(pipe: Connection, home: Path) -> None:
    """Import what comes through the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    while True:
        made = case(pipe.recv())
        forget_memory()
        began = time.process_time()
        outcome = import_one(home, made)
        pipe.send(Ended(outcome, made.kind, time.process_time() - began, most_memory()))


class Worker:
    """A process that imports, made anew where it ends."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process: multiprocessing.process.BaseProcess | None = None

    def tried(self, seed: int) -> Ended:
        """Import the case of a seed."""
        context = multiprocessing.get_context("spawn")
        if self._process is None or not self._process.is_alive():
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=work, args=(theirs, self._home), daemon=True)
            self._process.start()
            theirs.close()
        self._pipe.send(seed)
        if not self._pipe.poll(PATIENCE):
            self.end()
            return Ended("no end", case(seed).kind, PATIENCE)
        try:
            return self._pipe.recv()
        except EOFError:
            return Ended("ended the process", case(seed).kind)

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


def main() -> None:
    """Import the tables; print the figures as JSON, and a table to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ended: dict[int, Ended] = {}
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(Path(folder) / "home")
        for seed in range(options.seed, options.seed + options.tables):
            ended[seed] = each = worker.tried(seed)
            if is_wrong(each) or seed % 100 == 0:
                print(seed, each, file=sys.stderr, flush=True)
        worker.end()
    print(json.dumps({
        "tables": options.tables, "first_seed": options.seed,
        "wrong": [{"seed": seed, **each._asdict()} for seed, each in ended.items() if is_wrong(each)],
        "slowest_s": round(max(each.seconds for each in ended.values()), 2),
        "largest_mib": max(each.memory for each in ended.values()) >> 20,
        "outcomes": {kind: dict(count) for kind, count in counted(ended).items()},
    }, indent=1))  # fmt: skip
    print_table(ended)


def is_wrong(ended: Ended) -> bool:
    """Tell whether a case ended as it must not."""
    right = ended.outcome in ("imported", "refused")
    return not right or ended.seconds > MOST_SECONDS or ended.memory > MOST_MEMORY


def counted(ended: dict[int, Ended]) -> dict[str, Counter[str]]:
    """Count the outcomes of each kind."""
    outcomes: dict[str, Counter[str]] = {}
    for each in ended.values():
        outcomes.setdefault(each.kind, Counter())[each.outcome.partition(":")[0]] += 1
    return dict(sorted(outcomes.items()))


def print_table(ended: dict[int, Ended]) -> None:
    """Print how many cases of each kind were imported and refused, with the longest and the largest."""
    print(
        "| kind | imported | refused | other | longest | most memory |\n|---|---:|---:|---:|---:|---:|", file=sys.stderr
    )
    for kind, count in counted(ended).items():
        rows = [each for each in ended.values() if each.kind == kind]
        other = len(rows) - count["imported"] - count["refused"]
        most = f"{max(each.seconds for each in rows):.1f} s | {max(each.memory for each in rows) >> 20} MiB"
        print(f"| {kind} | {count['imported']} | {count['refused']} | {other} | {most} |", file=sys.stderr)


if __name__ == "__main__":
    main()
