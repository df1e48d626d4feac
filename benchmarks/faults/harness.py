"""Run the tool where something is wrong, and judge how it ended: what the programs of this folder share."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import deviate as package

TRAIN = """\
import random, time
for epoch in range(3):
    time.sleep({pause})
    loss = random.random()
    print(f"epoch {{epoch}} loss {{loss:.4f}}")
"""

#: Seconds and bytes that a command may take.
SECONDS = 60
MEMORY = 4 << 30

RUN = f"run -n 2 --name train -- {shlex.quote(sys.executable)} train.py"

#: Written by hand where a command reads stored results.
TABLE = "seed,acc\n" + "".join(f"{seed},{0.9 + seed / 100}\n" for seed in range(6))


@dataclass(frozen=True)
class Case:
    """A command where something is wrong."""

    group: str
    name: str
    #: Words of ``deviate`` with what the shell does to them.
    words: str
    #: Makes what is wrong, in the project's folder.
    harm: Callable[[Path], object] = lambda project: None
    #: Exit statuses that are right.
    statuses: tuple[int, ...] = (2,)
    #: A first ``deviate run`` comes before the harm.
    after_run: bool = False
    #: Says what is wrong after the command all the same; empty where nothing is.
    check: Callable[[Path], str] = lambda project: ""


def run_case(project: Path, case: Case) -> dict[str, Any]:
    """Run one case in a project of its own."""
    make_project(project)
    if case.after_run:
        deviate(project, RUN)
    case.harm(project)
    return judged_case(case, deviate(project, case.words), lambda: case.check(project))


def judged_case(case: Case, ended: dict[str, Any], check: Callable[[], str]) -> dict[str, Any]:
    """Judge how the command of a case ended, and what it left where it ended well."""
    problem = "" if ended["status"] in case.statuses else f"status {ended['status']}, not {case.statuses}"
    problem = ended["problem"] or problem or (check() if ended["status"] == 0 else "")
    return {"group": case.group, "name": case.name, **ended, "problem": problem}


def make_project(project: Path, pause: float = 0) -> None:
    """Write the program, and a table of results."""
    project.mkdir(exist_ok=True)
    (project / "train.py").write_text(TRAIN.format(pause=pause))
    (project / "table.csv").write_text(TABLE)


def deviate(project: Path, words: str, **environment: str) -> dict[str, Any]:
    """Run the tool in a shell; return its status, its time, its last error and whether it was as it must not be."""
    began = time.perf_counter()
    return wait(start(project, words, **environment), began)


def start(project: Path, words: str, **environment: str) -> subprocess.Popen[str]:
    """Start the tool with a limit of memory."""

    def limited() -> None:
        # What draws figures reserves more addresses than it uses memory, and aborts where it may not.
        if "figures=" not in " ".join(words):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    variables = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
    return subprocess.Popen(
        f"{variables}{tool(words)}", cwd=project, shell=True, text=True, errors="replace", stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=limited,
    )  # fmt: skip


def tool(words: str) -> str:
    """Return the line of a shell that runs the tool."""
    return f"exec {shlex.quote(sys.executable)} -m deviate {words}"


def wait(process: subprocess.Popen[str], began: float) -> dict[str, Any]:
    """Wait for the tool; return what `deviate` does."""
    late = False
    try:
        printed, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        printed, errors = process.communicate()
        late = True
    return judged_end(process.returncode, printed, errors, began, late=late)


def judged_end(status: int, printed: str, errors: str, began: float, *, late: bool) -> dict[str, Any]:
    """Judge how a command ended, by its exit status and what it printed."""
    problem = f"not ended after {SECONDS} s" if late else ""
    if "Traceback" in errors or "Error ignored" in errors:
        problem = "traceback"
    elif status not in (0, 1, 2):
        problem = problem or f"status {status}"
    elif status and not any(line.lower().startswith("error") for line in errors.splitlines()):
        said = errors + printed
        problem = "" if "failed" in said or "timed out" in said else "no message"
    message = next((line for line in errors.splitlines() if line.startswith("error")), "")
    seconds = round(time.perf_counter() - began, 1)
    return {"status": status, "seconds": seconds, "message": message[:300], "problem": problem}


def values(project: Path, name: str) -> dict[str, list[float]]:
    """Return the values that the experiment `name` has of each metric, in the order of the runs."""
    samples = package.load(name, project=project).samples()
    finite = samples[np.isfinite(samples["value"])]
    return {metric: rows["value"].tolist() for metric, rows in finite.groupby("metric", sort=False)}


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a file system in memory."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def can_mount(base: Path) -> bool:
    """Tell whether this process may mount."""
    try:
        with mounted(base / "try", "size=64k"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def finish(rows: Sequence[dict[str, Any]], **options: object) -> None:
    """Print a row for each group, each case that went wrong, and the JSON; end with status 1 where one did."""
    heads = "| cases | number | status 0 | 1 | 2 | longest | problems |\n|---|---:|---:|---:|---:|---:|---:|"
    print(heads, file=sys.stderr)
    for group in dict.fromkeys(row["group"] for row in rows):
        of_group = [row for row in rows if row["group"] == group]
        statuses = " | ".join(str(sum(row["status"] == status for row in of_group)) for status in (0, 1, 2))
        longest, wrong = max(row["seconds"] for row in of_group), sum(bool(row["problem"]) for row in of_group)
        print(f"| {group} | {len(of_group)} | {statuses} | {longest:.1f} s | {wrong} |", file=sys.stderr)
    for row in rows:
        if row["problem"]:
            print(f"{row['group']}, {row['name']}: {row['problem']}  {row['message']}", file=sys.stderr)
    print(json.dumps({**options, "rows": rows}))
    sys.exit(any(row["problem"] for row in rows))
