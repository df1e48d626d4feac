"""Start a program in a copy of its folder, bare or under Deviate, and gather what it left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil
from catalogue import TRUTHS, Program

#: Seconds that a command may take, and that what it left in the background may take after it.
COMMAND_S = 900
BACKGROUND_S = 60

VARIANTS = ("as-is", "control")

#: Prints the records of the experiment, those of failed runs too, with every bit.
READ = """
import json, deviate
frame = deviate.load("tried").records(include_failed=True)
rows = zip(frame["variant"], frame["run"], frame["metric"], frame["iteration"], frame["value"])
print(json.dumps([[v, int(r), m, None if i != i else int(i), float(x).hex()] for v, r, m, i, x in rows]))
"""


@dataclass
class Left:
    """What one training left."""

    #: Exit status, negative for a signal; None where it is not known.
    status: int | None
    stdout: str = ""
    stderr: str = ""
    #: Bytes of each file that it wrote or changed.
    written: dict[str, bytes] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    #: Files of the project that hold other bytes although the program left them alone.
    edited: list[str] = field(default_factory=list)


@dataclass
class Run(Left):
    """A training under Deviate."""

    ended: str = ""
    reason: str = ""
    #: Values of each metric, in the order of the iterations.
    recorded: dict[str, list[float]] = field(default_factory=dict)


Found = TypeVar("Found", bound=Left)


@dataclass
class Started:
    """A command under Deviate."""

    status: int
    seconds: float
    stderr: str
    report: dict[str, Any]
    runs: dict[str, list[Run]]
    #: Files of the project's own folder that it changed or made.
    changed: list[str]
    #: What it started and still ran.
    running: list[str]


def start_bare(program: Program, place: Path, deviate: Path) -> Left:
    """Run a program without Deviate, until nothing of it runs any more."""
    folder = copy(program, place, deviate)
    before = files(folder)
    status = typed(program.line.replace("{deviate}", ""), folder, place, deviate)
    wait_for_background(place)
    return left(Left(status), program, place, folder, before)


def start_deviate(program: Program, place: Path, deviate: Path) -> Started:
    """Run a program under Deviate, as it is and under control."""
    folder = copy(program, place, deviate)
    before = files(folder)
    variants = " ".join(["--set share=none", *(f"--vary {variant}" for variant in VARIANTS)])
    tool = f"{deviate} run -n 2 --name tried --project . --set even_so=true --json {variants} {program.options} --"
    began = time.monotonic()
    status = typed(program.line.replace("{deviate}", tool), folder, place, deviate)
    seconds = time.monotonic() - began
    time.sleep(0.5)
    running = [" ".join(process.cmdline())[:100] for process in processes(place)]
    report = json.loads((place / "stdout").read_text() or "{}")
    after = files(folder)
    runs = {variant: [gather(program, folder, before, variant, k) for k in range(2)] for variant in VARIANTS}
    # Sorted by iteration: values of one iteration stay in the order in which they came.
    rows = sorted(recorded(folder, deviate), key=lambda row: (row[3] is None, row[3] or 0))
    last: dict[Any, Any] = {}
    for variant, index, metric, iteration, value in rows:
        # What two sites of one metric report in one iteration is one value.
        if last.get((variant, index, metric)) != (iteration, value):
            runs[variant][index].recorded.setdefault(metric, []).append(float.fromhex(value))
        last[variant, index, metric] = iteration, value
    return Started(
        status, seconds, (place / "stderr").read_text(errors="replace"), report, runs,
        sorted(path for path in {*before, *after} if before.get(path) != after.get(path)), running,
    )  # fmt: skip


def copy(program: Program, place: Path, deviate: Path) -> Path:
    """Copy a program into an empty place, set it up, and return the folder where its line is typed."""
    shutil.rmtree(place, ignore_errors=True)
    folder = place / "project"
    shutil.copytree(program.source, folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "home").mkdir()
    if program.setup and (status := typed(program.setup, folder / program.folder, place, deviate)):
        raise SystemExit(f"{program.name}: its setup ended with {status}: {(place / 'stderr').read_text()[-500:]}")
    return folder / program.folder


def typed(line: str, folder: Path, place: Path, deviate: Path) -> int:
    """Type a line in a shell, with its output in two files; return its status."""
    environment = {
        "PATH": os.pathsep.join([str(deviate.parent), os.environ["PATH"]]),
        "HOME": str(place / "home"),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }
    with (place / "stdout").open("wb") as stdout, (place / "stderr").open("wb") as stderr:
        shell = subprocess.Popen(
            ["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            start_new_session=True,
        )  # fmt: skip
        try:
            return shell.wait(COMMAND_S)
        except subprocess.TimeoutExpired:
            for process in processes(place):
                with suppress(psutil.Error):
                    process.kill()
            return shell.wait()


def processes(place: Path) -> list[psutil.Process]:
    """Return the processes that work below a place."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(place):
                found.append(process)
    return found


def wait_for_background(place: Path) -> None:
    """Wait until nothing works below a place, and end what does for too long."""
    until = time.monotonic() + BACKGROUND_S
    # Twice: a process may fork and end while the list is read.
    while time.monotonic() < until and (processes(place) or processes(place)):
        time.sleep(0.1)
    for process in processes(place):
        process.kill()


def files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the files below a folder, without caches of Python, Deviate's workspace and git's data."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not {"__pycache__", ".deviate", ".git", "env"} & set(name.parts) and path.is_file():
            found[str(name)] = path.read_bytes()
    return found


def left(found: Found, program: Program, place: Path, folder: Path, before: dict[str, bytes]) -> Found:
    """Add to a training what it left in its folder and in its two files of output."""
    found.stdout, found.stderr = (text_of(place / name, folder) for name in ("stdout", "stderr"))
    after = files(folder)
    changed = {path for path in after if before.get(path) != after[path]}
    source = {path for path in changed if path in before and path.endswith((".py", ".model"))}
    found.written = {path: after[path] for path in sorted(changed)}
    found.edited = sorted(source)
    found.losses = losses_of(after, program)
    return found


def text_of(path: Path, folder: Path) -> str:
    """Return what was printed, with another word for the folder that the program works in."""
    text = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
    return text.replace(str(folder), "<folder>")


def losses_of(written: dict[str, bytes], program: Program) -> list[float]:
    """Return the losses that the program wrote down itself."""
    for name in [program.truth] if program.truth else TRUTHS:
        if name in written and name.endswith(".npy"):
            # The head of an array of doubles; what comes after it is the same as without.
            start = written[name].index(b"\n") + 1
            return [float(value) for value in np.frombuffer(written[name][start:])]
        if name in written:
            return [float(value) for value in np.frombuffer(written[name])]
    return []


def gather(program: Program, folder: Path, before: dict[str, bytes], variant: str, index: int) -> Run:
    """Return what one run left in the workspace."""
    place = folder / ".deviate/experiments/tried/runs" / f"{variant}-{index}"
    outcome = json.loads((place / "outcome.json").read_text()) if (place / "outcome.json").exists() else {}
    run = Run(status_of(outcome), ended=outcome.get("status", "no run"), reason=outcome.get("reason", ""))
    for name in ("stdout", "stderr"):
        (place / name).unlink(missing_ok=True)
    work = place / "work" / folder.name
    if not outcome or not work.is_dir():
        return run
    run = left(run, program, place, work, before)
    run.stdout, run.stderr = (text_of(place / f"{name}.log", work) for name in ("stdout", "stderr"))
    return run


def status_of(outcome: dict[str, Any]) -> int | None:
    """Return the exit status of a run, as a shell's parent sees it."""
    if outcome.get("signal"):
        return -int(signal.Signals[outcome["signal"]])
    return outcome.get("exit_code", 0 if outcome.get("status") == "completed" else None)


def recorded(folder: Path, deviate: Path) -> list[list[Any]]:
    """Return the records of the experiment: variant, run, metric, iteration, value."""
    words = [str(deviate.parent / "python"), "-c", READ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else []
