"""Damage every stored file of a workspace, and see whether a number is another than before.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/stored.py [--times N] [--only WORD] > stored.json

The workspaces have every kind of file that Deviate stores, see `workspaces`. A file of a kind that is neither damaged
nor listed as never read ends the benchmark. Each is cut at N random places and has one bit flipped at N others. After
each of these all that the file serves is read as commands read it, without starting one. After a few of them the
command itself is typed in a fork of this process, and once for each command in a process of its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import random
import re
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import pandas as pd
from forks import forked, typed, warm
from harness import deviate
from workspaces import ARCHIVE, CELL, HANDED, PROJECTS, hold_run, make_workspaces, require_every

import deviate.facts.stored as module_of_results
from deviate.core.errors import DeviateError
from deviate.facts.experiment import experiment_facts
from deviate.facts.stored import Results, read_results
from deviate.observe.tables import Tables, open_tables
from deviate.report.writers.contracts import experiment_contract
from deviate.runs.housekeeping import import_archive
from deviate.runs.lease import live_holder
from deviate.runs.orders import read_job, read_order
from deviate.runs.prepared import step_overlay
from deviate.runs.snapshot.manifest import read_snapshot, read_written, require_whole
from deviate.source.cells import read_cells
from deviate.source.config import FILE_NAME, read_config
from deviate.store.files import read_json
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.looks import RecordedLooks

#: Kinds of files that no command reads again; all others are damaged.
NEVER_READ = {
    "lock": "its content means nothing",
    "locks/*": "likewise",
    ".gitignore": "read by git",
    "experiments/*/report.md": "an output",
    "experiments/*/runs/*/work/*": "the run's own files",
}

#: What came of a damage. The last two must not be.
OUTCOMES = ("refused", "left out and named", "same numbers", "another configuration", "WRONG NUMBER", "TRACEBACK")

NOW = datetime(2026, 1, 1, tzinfo=UTC)

#: What is read of an experiment, by name and by what each entry is of.
Numbers = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Kind:
    """Files of one kind, for which one of them stands."""

    name: str
    project: Path
    path: Path
    #: Reads what the file serves; raises an error of Deviate where it refuses.
    read: Callable[[], Numbers]
    #: The command that does the same.
    words: str


def main() -> None:
    """Damage, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--typed", type=int, default=1, help="damages of each after which the command is typed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds of files whose name holds this word")
    parser.add_argument("--skip", default="", help="not those whose name holds this one")
    parser.add_argument("--workspaces", type=Path, help="folder where they are, or are made and stay")
    options = parser.parse_args()
    started = time.perf_counter()
    warm()
    with tempfile.TemporaryDirectory() as name:
        rows, commands = [], set()
        for kind in list(kinds(found_or_made(options.workspaces or Path(name)))):
            if options.only in kind.name and (not options.skip or options.skip not in kind.name):
                first = kind.words.split()[0] not in commands
                commands.add(kind.words.split()[0])
                rows += damaged(kind, options, own_process=first)
                for row in rows[-2:]:
                    print(json.dumps(row), f"{time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    heads = (*OUTCOMES, "typed")
    print(f"| file | damage | {' | '.join(heads)} |\n|---|---|{'---:|' * len(heads)}", file=sys.stderr)
    for row in rows:
        counts = " | ".join(str(row[head]) for head in heads)
        print(f"| {row['file']} | {row['damage']} | {counts} |", file=sys.stderr)
    print(
        json.dumps(
            {**vars(options), "workspaces": None, "seconds": round(time.perf_counter() - started, 1), "rows": rows}
        )
    )
    sys.exit(any(row[outcome] for row in rows for outcome in OUTCOMES[-2:]) or any(row["problems"] for row in rows))


def found_or_made(base: Path) -> list[Path]:
    """Return the projects in a folder; where it is empty or not there, they are made."""
    base.mkdir(exist_ok=True)
    projects = [base / name for name in PROJECTS] if any(base.iterdir()) else make_workspaces(base)
    hold_run(projects[-1])
    require_every(projects)
    return projects


def kinds(projects: Sequence[Path]) -> Iterator[Kind]:
    """Yield each kind of stored file once; a kind that nothing here reads ends the benchmark."""
    seen = set()
    for project in projects:
        root = Workspace(project).path
        for path in sorted(each for each in root.rglob("*") if each.is_file()):
            place = path.relative_to(root).as_posix()
            name = named(root, place)
            general = re.sub(r"experiments/[^/]+/", "experiments/*/", name)
            read = not any(fnmatch(general, each) for each in NEVER_READ)
            if read and general not in seen and path.stat().st_size:
                seen.add(general)
                yield Kind(re.sub(r"looks/.*", "looks/*.json", name), project, path, *reader(project, path, place))
    archive, toml = project / ARCHIVE, project / FILE_NAME
    yield Kind("exported archive", project, archive, lambda: imported(archive), f"import {ARCHIVE} --name taken")
    yield Kind(f"{FILE_NAME} with a grid", project, toml, lambda: configured(project), "run")


def named(root: Path, place: str) -> str:
    """Return the name of a kind of file: without the numbers of runs, processes and passes."""
    run = re.match(r"(experiments/[^/]+/runs)/[^/]+/", place)
    if run is None:
        return re.sub(r"/submissions/[^/]+", "/submissions/*", re.sub(r"/snapshot/.*", "/snapshot/*", place))
    part = re.sub(r"-\d+-\d{6,}|(?<=lease)-\d+", "-*", place.removeprefix(run[0]))
    if part.startswith("steps/"):
        # What was evaluated of a shared run is as that of any other; a clean-up is as a set-up.
        part = re.sub(r"^steps/(?:setup|cleanup)-", "steps/around-", part)
        return f"{run[1]}/*/{re.sub(r'-[0-9]+/', '-*/', part, count=1)}"
    info = root / run[0] / "run.json"
    shared = not part.startswith("written/") and info.is_file() and json.loads(info.read_text())["same_as"]
    return f"{run[1]}/{'shared' if shared else '*'}/{part}"


def reader(project: Path, path: Path, place: str) -> tuple[Callable[[], Numbers], str]:
    """Return what reads a file, and the command that does."""
    top, *rest = place.split("/")
    if top == "looks":
        return lambda: {"looks": msgspec.to_builtins(read_json(path, RecordedLooks))}, "compare a b --format json"
    if top == "written":
        return lambda: {"lines": sorted(read_written(project))}, f"run -n 2 --name every -- {sys.executable} train.py"
    if top != "experiments":
        sys.exit(f"nothing here reads {place}")
    folder = Workspace(project).experiment(rest[0])
    if rest[1] == "steps":
        return lambda: sources(folder), f"run -n 3 --name {rest[0]} -- {sys.executable} train.py"
    if rest[1] == "snapshot":
        return lambda: snapshot(folder), f"run -n 3 --name {rest[0]} -- {sys.executable} train.py"
    if rest[1] == "submissions" or rest[3:4] == ["worker"]:
        again = f"run -n 2 --name {HANDED} --vary other --executor slurm --print -- {sys.executable} train.py 0.3"
        return lambda: handed(folder), again
    return lambda: numbers(folder), f"report {rest[0]} --format json"


def snapshot(folder: ExperimentFolder) -> Numbers:
    """Look whether runs could be made of the experiment's copy of the project."""
    require_whole(read_snapshot(folder), folder)
    return {}


def sources(folder: ExperimentFolder) -> Numbers:
    """Look whether runs could be evaluated with the experiment's copies of what they are evaluated with."""
    experiment = folder.read_experiment()
    return {step.name: step_overlay(folder, experiment, step) for step in experiment.evaluations}


def handed(folder: ExperimentFolder) -> Numbers:
    """Return what the workers of an experiment would make, and who makes a run now."""
    jobs = {run.run: job for run in folder.runs() if (job := read_job(run)) is not None}
    orders = [read_order(folder, job) for job in jobs.values()]
    holders = {run.run: live_holder(run) for run in folder.runs()}
    return {"jobs": jobs, "orders": orders, "holders": holders}


def imported(path: Path) -> Numbers:
    """Return what is read of an experiment that was exported; of one that is refused nothing may be left behind."""
    with tempfile.TemporaryDirectory() as name:
        workspace = Workspace(Path(name))
        try:
            return numbers(import_archive(path, workspace, "taken")[0])
        except DeviateError:
            left = [each for each in workspace.path.rglob("*") if each.name not in ("experiments", ".gitignore")]
            if any("locks" not in each.parts and each.name != "lock" for each in left):
                raise RuntimeError(f"left behind: {left}") from None
            raise


def configured(project: Path) -> Numbers:
    """Return what ``deviate.toml`` asks for, and the numbers of one of its experiments, which are as they were."""
    configuration = read_config(project), read_cells(project)
    return {**numbers(Workspace(project).experiment(CELL)), "configuration": configuration}


def numbers(folder: ExperimentFolder) -> Numbers:
    """Return all that is read of an experiment, number by number, and the report as programs read it."""
    results, records = results_and_records(folder)
    found: Numbers = {"status": {(run.variant, run.index): run.status for run in results.runs}}
    found["samples"] = {
        (variant, sample.name, run): value
        for variant, samples in results.samples.items()
        for sample in samples
        for run, value in zip(sample.runs, sample.values, strict=True)
    }
    found["records"] = {key: digest(part[["iteration", "elapsed_s", "value"]].to_numpy())
                        for key, part in records.groupby(["variant", "run", "metric"])}  # fmt: skip
    found["predictions"] = {
        (variant, each.site.line, each.kept, run, what): digest(array[at][np.argsort(each.predictions.keys)])
        for variant, evaluations in results.evaluations.items()
        for each in evaluations
        if each.predictions is not None
        for what, array in (("labels", each.predictions.labels), ("scores", each.predictions.scores))
        if array is not None
        for at, run in enumerate(each.predictions.runs)
    }
    found["weights"] = {
        (variant, run, moment, layer): digest(values)
        for variant, runs in results.weights.items()
        for run, each in runs.items()
        for moment, layers in [("final", each.layers), *each.moments.items()]
        for layer, values in layers.items()
    }
    contract = experiment_contract(experiment_facts(results, NOW))
    found["report"] = json.dumps(contract, default=str)
    return found


def results_and_records(folder: ExperimentFolder) -> tuple[Results, pd.DataFrame]:
    """Read the results and every record, from tables that are opened once for both: that takes most of the time."""
    frames = []

    @contextmanager
    def opened(*given: Any, **options: Any) -> Iterator[Tables]:
        with open_tables(*given, **options) as tables:
            frames.append(tables.records())
            yield tables

    with mock.patch.object(module_of_results, "open_tables", opened):
        results = read_results(folder, weights=True)
    return results, frames[0]


def digest(values: Any) -> str:
    """Return what stands for an array."""
    array = np.ascontiguousarray(values)
    return f"{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


def damaged(kind: Kind, options: argparse.Namespace, *, own_process: bool) -> list[dict[str, Any]]:
    """Damage one file in both ways, and count what came of it; the file is as it was afterwards."""
    # What reads starts threads, after which nothing may fork: it has a process of its own.
    ended = forked(
        lambda: print(json.dumps(counted(kind, options.times, options.seed))), kind.project, {}, seconds=3600
    )
    if ended.status:
        sys.exit(ended.errors)
    print(ended.errors, end="", file=sys.stderr)
    rows: list[dict[str, Any]] = json.loads(ended.printed)
    problems = list(problems_typed(kind, options, own_process=own_process))
    return [{**row, "typed": options.typed, "problems": problems} for row in rows]


def counted(kind: Kind, times: int, seed: int) -> list[dict[str, Any]]:
    """Count what comes of each damage."""
    data, whole, rows = kind.path.read_bytes(), kind.read(), []
    for how, harm in (("cut", cut), ("one bit flipped", flipped)):
        counts: Counter[str] = Counter()
        rng = random.Random(f"{seed} {kind.name} {how}")
        for _ in range(times):
            kind.path.write_bytes(harm(data, rng))
            counts[outcome(kind, whole)] += 1
        kind.path.write_bytes(data)
        if kind.read() != whole:
            raise RuntimeError(f"{kind.name} was put back, and something is lost")
        rows.append({"file": kind.name, "damage": how, **{each: counts[each] for each in OUTCOMES}})
    return rows


def problems_typed(kind: Kind, options: argparse.Namespace, *, own_process: bool) -> Iterator[str]:
    """Type the command after damages; yield what is wrong with how it ended. The workspace is put back."""
    project, data, rng = kind.project, kind.path.read_bytes(), random.Random(f"{options.seed} {kind.name}")
    for index in range(2 * options.typed):
        kept = project.with_name(f"{project.name}-kept")
        shutil.copytree(project / ".deviate", kept, symlinks=True)
        kind.path.write_bytes((cut, flipped)[index % 2](data, rng))
        if own_process and not index:
            ended = deviate(project, kind.words)
        else:
            ended = typed(project, shlex.split(kind.words), {})
        if lost := [each for each in kept.rglob("records-*.bin") if not is_there(each, kept, kind)]:
            yield f"{kind.words}: lost {lost}"
        shutil.rmtree(project / ".deviate")
        kept.rename(project / ".deviate")
        kind.path.write_bytes(data)
        if ended["problem"]:
            yield f"{kind.words}: {ended['problem']}"


def is_there(path: Path, kept: Path, kind: Kind) -> bool:
    """Tell whether a file is as it was before a command was typed; `kept` is a copy of the workspace."""
    now = kind.project / ".deviate" / path.relative_to(kept)
    return now == kind.path or (now.is_file() and now.read_bytes() == path.read_bytes())


def cut(data: bytes, rng: random.Random) -> bytes:
    """Return the beginning of `data`."""
    return data[: rng.randrange(len(data))]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with one bit changed."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def outcome(kind: Kind, whole: Numbers) -> str:
    """Say what came of a damage."""
    try:
        found = kind.read()
    except DeviateError:
        return "refused"
    except Exception:
        traceback.print_exc()
        return "TRACEBACK"
    if found == whole:
        return "same numbers"
    if {**found, "configuration": None} == {**whole, "configuration": None}:
        # It is the user's to change.
        return "another configuration"
    if "report" not in found:
        # A line of the list that was damaged matches no file; nothing else reads it.
        kept = set(found.get("lines", ())) & set(whole.get("lines", ()))
        return "left out and named" if "lines" in found and kept < set(whole["lines"]) else "WRONG NUMBER"
    others = all(whole[part].get(key) == value for part in ("samples", "records", "predictions", "weights")
                 for key, value in found[part].items())  # fmt: skip
    return "left out and named" if others and kind.path.name in found["report"] else "WRONG NUMBER"


if __name__ == "__main__":
    main()
