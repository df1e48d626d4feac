"""Have runs hang, fail, take memory, lose their clock or half of their copy at random moments, and look what is lost.

    python benchmarks/faults/runs.py [--times 24] [--only NAME] [--seed 0] > runs.json

Prints a table on standard error and one JSON object on standard output. Each round makes runs in a fresh project, and
one of them, or the tool, meets a fault at a random moment. The same command is typed again until it ends with status 0.
Then each value must be that of an undisturbed experiment, no training may have started while another one of its run
lived, nothing that had completed may have been started again or changed by a byte, and nothing may be left running.
Faults that the tool has to see must have been seen, and named.

``clock`` and ``workers`` need root and a C compiler: the time of day, the boot time and the times of the files that are
there are moved together, for the tool and its trainings alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import cluster
import engines
import harness
from forks import Child, forked, status_of, warm

from deviate.__main__ import command as main_of_the_tool

RUNS = 4
EPOCHS = 5
MODULES = 24
WORDS = f"run -n {RUNS} -j 2 --name e --vary algo --retry-failed"
COMMAND = f"-- {shlex.quote(sys.executable)} train.py"

#: Commands of a round at most, and seconds that one may take.
MOST = 6
PATIENCE = 180.0

#: What a run does at one of its epochs, once, or always as long as the file FAULT is there.
TRAIN = (
    cluster.TRAIN.partition("for epoch")[0]
    + """
import json, signal, subprocess, sys
from parts import total
from parts.strike import strike

history = open("history.csv", "w")
history.write("epoch,score\\n")
for epoch in range(5):
    strike(run, epoch)
    loss = random.random() / (epoch + 1) + total
    time.sleep(float(os.environ.get("PAUSE", "0.2")))
    print("epoch", epoch, "loss", loss)
    history.write("%d,%r\\n" % (epoch, loss / 2))
    history.flush()
"""
)

STRIKE = """\
import json, os, signal, subprocess, sys, time

def strike(run, epoch):
    path = os.environ["FAULT"]
    try:
        with open(path) as file:
            fault = json.load(file)
    except FileNotFoundError:
        return
    if epoch != fault["epochs"].get(run):
        return
    if fault["once"]:
        try:
            os.rename(path, path + ".met")
        except FileNotFoundError:
            return
    KINDS[fault["kind"]](run)

def ignore(run):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)

def busy(run):
    while True:
        pass

def take(run):
    held = bytearray(b"1") * (600 << 20)
    time.sleep(600)

def broken(run):
    raise ValueError("the optimiser broke")

KINDS = {
    "sleeps": lambda run: time.sleep(600),
    "ignores signals": ignore,
    "computes": busy,
    "waits for a child": lambda run: subprocess.call(["sleep", "600"]),
    "itself": take,
    "a child": lambda run: subprocess.call([sys.executable, "-c", "x = bytearray(b'1') * (600 << 20); input()"],
                                           stdin=subprocess.PIPE),
    "alike": broken,
    "raises": lambda run: [][len(run)],
    "exits": lambda run: sys.exit("run %s gives up" % run),
    "dies": lambda run: os.kill(os.getpid(), signal.SIGSEGV),
}
"""


class Round(NamedTuple):
    """What a fault needs to know and to note."""

    project: Path
    rng: random.Random
    #: What each completed run was, see `engines.note_finished`.
    finished: dict[str, Any]


class Fault(NamedTuple):
    """A fault: each call of the command is an item, which says what is wrong with how it ended."""

    commands: Callable[[Round], Iterator[str]]
    options: str = ""


def main() -> None:
    """Make the rounds, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=24, help="rounds of each fault")
    parser.add_argument("--only", choices=FAULTS, action="append", help="one of the faults")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    warm()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        make(project)
        if (how := ended(start(project), {0})) != "0":
            sys.exit(f"the command fails without any fault: {how}")
        truth = engines.numbers(project)
        if not any("score" in name for name in truth[1]):
            sys.exit(f"no metric comes from a file that was written: {list(truth[1])}")
        for name in options.only or FAULTS:
            for number in range(options.times):
                rng = random.Random(f"{options.seed} {name} {number}")
                rows.append({"group": name, "name": str(number), **round_of(project, FAULTS[name], truth, rng)})
                print(rows[-1], file=sys.stderr, flush=True)
    harness.finish(rows, **vars(options))


def round_of(project: Path, fault: Fault, truth: Any, rng: random.Random) -> dict[str, Any]:
    """Make one round, and look what is lost."""
    began, commands, problem, said = time.monotonic(), 0, "", []
    make(project)
    each = Round(project, rng, {})
    for what in fault(each):
        commands += 1
        engines.note_finished(project, each.finished)
        said.append(what)
        problem = what.partition("WRONG: ")[2]
        if problem or what == "0":
            break
    problem = problem or ("" if said[-1:] == ["0"] else f"not done after {commands} commands: {said}")
    problem = problem or engines.judged(project, truth, each.finished)
    return {"status": int(bool(problem)), "message": "; ".join(said), "seconds": round(time.monotonic() - began, 1),
            "commands": commands, "starts": cluster.starts(project).total(), "problem": problem}  # fmt: skip


def make(project: Path) -> None:
    """Make the project anew: a training that reads many files of its own."""
    cluster.make(project)
    for path in (fault_file(project), met(project)):
        path.unlink(missing_ok=True)
    (project / "train.py").write_text(TRAIN)
    parts = project / "parts"
    parts.mkdir()
    names = [f"part{number:02d}" for number in range(MODULES)]
    for number, name in enumerate(names):
        lines = "".join(f"value += {number} / 1000000\n" for _ in range(50))
        (parts / f"{name}.py").write_text(f"value = 0\n{lines}")
    imports = "".join(f"from . import {name}\n" for name in names)
    (parts / "__init__.py").write_text(f"{imports}total = {' + '.join(f'{name}.value' for name in names)}\n")
    (parts / "strike.py").write_text(STRIKE)


def fault_file(project: Path) -> Path:
    """Return where trainings read what they have to do."""
    return project.with_name("fault.json")


def met(project: Path) -> Path:
    """Return what is there once a training has met its fault."""
    return project.with_name("fault.json.met")


def arrange(project: Path, kind: str, epochs: dict[str, int], *, once: bool = True) -> None:
    """Have trainings meet a fault."""
    fault_file(project).write_text(json.dumps({"kind": kind, "epochs": epochs, "once": once}))


def variables(project: Path) -> dict[str, str]:
    """Return the variables that the command is typed with."""
    return {"LOG": str(cluster.log(project)), "FAULT": str(fault_file(project)), "PWD": str(project)}


def start(project: Path, options: str = "") -> Child:
    """Type the command."""

    def work() -> None:
        sys.argv = ["deviate", *shlex.split(f"{WORDS} {options} {COMMAND}")]
        main_of_the_tool()

    return Child(work, project, variables(project))


def ended(tool: Child, statuses: set[int], must_say: str = "") -> str:
    """Return how a command ended: its status, or what is wrong with it."""
    status, _, said, late = tool.wait(PATIENCE)
    if late:
        return f"WRONG: not ended after {PATIENCE:.0f} s"
    if "Traceback" in said:
        return f"WRONG: traceback {said[-500:]}"
    if status not in statuses:
        return f"WRONG: status {status}, not {statuses}: {said[-500:]}"
    if status > 0 and must_say not in said:
        return f"WRONG: it does not say {must_say!r}: {said[-500:]}"
    return str(status)


def reasons(project: Path) -> dict[str, str]:
    """Return why runs failed."""
    outcomes = sorted((project / ".deviate/experiments/e/runs").glob("*/outcome.json"))
    read = {path.parent.name: json.loads(path.read_text()) for path in outcomes}
    return {name: outcome["reason"] for name, outcome in read.items() if "reason" in outcome}


def one_run(rng: random.Random) -> dict[str, int]:
    """Return a random run with a random epoch."""
    return {f"algo-{rng.randrange(RUNS)}": rng.randrange(EPOCHS)}


def until_done(each: Round, options: str = "") -> Iterator[str]:
    """Type the command until it is done."""
    for _ in range(MOST):
        yield ended(start(each.project, options), {0})


def limited(options: str, kinds: list[str], reason: str) -> Fault:
    """Return a fault that one run meets and that a limit ends: it is said why, and the same command makes the run."""

    def commands(each: Round) -> Iterator[str]:
        kind, epochs = each.rng.choice(kinds), one_run(each.rng)
        arrange(each.project, kind, epochs)
        first = ended(start(each.project, options), {1}, reason)
        if list(reasons(each.project)) != list(epochs) or reason not in reasons(each.project).popitem()[1]:
            first = f"WRONG: failed: {reasons(each.project)}, not {epochs}: {first}"
        yield f"{kind}, {epochs}: {first}"
        yield from until_done(each, options)

    return commands


def fail_alike(each: Round) -> Iterator[str]:
    """Have all runs meet the same error in the same epoch, until what they lack is there."""
    epoch = each.rng.randrange(EPOCHS)
    arrange(each.project, "alike", {f"algo-{number}": epoch for number in range(RUNS)}, once=False)
    first = ended(start(each.project), {1}, "failed-alike")
    # The second slot had begun a third one.
    if (count := cluster.starts(each.project).total()) > 3:
        first = f"WRONG: {count} trainings were started: {first}"
    yield f"epoch {epoch}: {first}"
    fault_file(each.project).unlink()
    yield from until_done(each)


def fail_differently(each: Round) -> Iterator[str]:
    """Have two runs fail in different epochs: all the others are made."""
    epochs = dict(zip(each.rng.sample([f"algo-{number}" for number in range(RUNS)], 2),
                      each.rng.sample(range(EPOCHS), 2), strict=True))  # fmt: skip
    kind = each.rng.choice(["raises", "exits", "dies"])
    arrange(each.project, kind, epochs, once=False)
    first = ended(start(each.project), {1}, "failed")
    if set(reasons(each.project)) != set(epochs) or len(cluster.completed(each.project)) != RUNS - 2:
        first = f"WRONG: failed: {reasons(each.project)}, not {epochs}: {first}"
    yield f"{kind}, {epochs}: {first}"
    fault_file(each.project).unlink()
    yield from until_done(each)


#: Seconds by which the clock is set, forward or backward.
JUMPS = (90, 3600, 86_400, 400 * 86_400)


class Clock:
    """The time that the tool and its trainings see: of the system, since the boot, and of the files that are there."""

    def __init__(self, folder: Path) -> None:
        self._offset, self._stat, self._library = folder / "offset", folder / "stat", folder / "clock.so"
        source = Path(__file__).with_name("clock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(source)], check=True)
        self._truth = Path("/proc/stat").read_text()
        self._seconds = 0
        self.set(0, folder / "nothing")

    def set(self, seconds: int, workspace: Path) -> None:
        """Set the clock: of what was written before the files keep their times, what comes is written at others."""
        moved = seconds - self._seconds
        for parent, _, names in os.walk(workspace):
            for path in (Path(parent, name) for name in names):
                # The system writes real times: what is older moves the other way.
                with suppress(OSError):
                    status = path.lstat()
                    times = (status.st_atime_ns - moved * 10**9, status.st_mtime_ns - moved * 10**9)
                    os.utime(path, ns=times, follow_symlinks=False)
        self._seconds = seconds
        aside = self._offset.with_suffix(".new")
        aside.write_text(f"{seconds}\n")
        aside.replace(self._offset)
        boot = next(line for line in self._truth.splitlines() if line.startswith("btime"))
        # In place, since it is mounted, and in one piece: it is being read.
        descriptor = os.open(self._stat, os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, self._truth.replace(boot, f"btime {int(boot.split()[1]) + seconds}").encode())
        os.close(descriptor)

    def start(self, project: Path, words: list[str], **more: str) -> Child:
        """Run a command under this clock."""
        mount = f'mount --bind {shlex.quote(str(self._stat))} /proc/stat && exec "$@"'
        words = ["unshare", "-m", "sh", "-c", mount, "sh", *words]
        moved = {"LD_PRELOAD": str(self._library), "CLOCK": str(self._offset)}
        return Child(lambda: os.execvp(words[0], words), project, {**variables(project), **moved, **more})


def clock(each: Round) -> Iterator[str]:
    """Set the clock once or twice while runs go on; every other time kill the tool right after that."""
    typed = [sys.executable, "-m", "deviate", *shlex.split(f"{WORDS} {COMMAND}")]
    with tempfile.TemporaryDirectory(dir=each.project.parent) as folder:
        clock, now = Clock(Path(folder)), 0
        for _ in range(each.rng.randint(1, 2)):
            before = cluster.starts(each.project).total()
            tool = clock.start(each.project, typed)
            while tool.poll() is None and cluster.starts(each.project).total() == before:
                time.sleep(0.05)
            time.sleep(each.rng.uniform(0, 2.5))
            running = tool.poll() is None
            now += each.rng.choice([-1, 1]) * each.rng.choice(JUMPS)
            clock.set(now, each.project / ".deviate")
            if killed := each.rng.random() < 0.5:
                time.sleep(each.rng.uniform(0, 0.5))
                tool.kill()
            how = ended(tool, {0, -signal.SIGKILL})
            # Where the command had ended, it is typed again.
            what = f"clock {now:+d} s{' while it ran' if running else ''}{', killed' if killed else ''}"
            yield f"{what}, {warned(each.project)} runs warned: {how}"
        for _ in range(MOST):
            yield ended(clock.start(each.project, typed), {0})


def workers(each: Round) -> Iterator[str]:
    """Start the printed workers, set the clock, kill some, and start all again at once, until all is done."""
    lines = start(each.project, "--executor workers --print").wait().printed.splitlines()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(dir=each.project.parent) as folder:
        clock, now = Clock(Path(folder)), 0

        def pods() -> list[Child]:
            return [
                clock.start(each.project, shlex.split(line), PATH=path, PAUSE="1", DEVIATE_JOB=f"job-{index}")
                for index, line in enumerate(lines)
            ]

        while len(cluster.completed(each.project)) < RUNS:
            before, first = cluster.starts(each.project).total(), pods()
            while cluster.starts(each.project).total() == before and any(pod.poll() is None for pod in first):
                time.sleep(0.05)
            time.sleep(each.rng.uniform(0, 1.5))
            now += each.rng.choice([-1, 1]) * each.rng.choice(JUMPS)
            clock.set(now, each.project / ".deviate")
            living = [pod for pod in first if pod.poll() is None]
            victims = each.rng.sample(living, min(len(living), each.rng.randint(0, 2)))
            for pod in victims:
                pod.kill()
            how = [ended(pod, {0, -signal.SIGKILL}) for pod in (*pods(), *first)]
            wrong = next((what for what in how if what.startswith("WRONG")), "")
            yield f"clock {now:+d} s, {len(victims)} of {len(living)} killed: {wrong or 'done'}"
    yield from until_done(each)


def warned(project: Path) -> int:
    """Return of how many runs it is said that the clock was set."""
    outcomes = (project / ".deviate/experiments/e/runs").glob("*/outcome.json")
    return sum("clock" in str(json.loads(path.read_text()).get("warnings")) for path in outcomes)


def copies(arguments: tuple[Any, ...]) -> bool:
    """Tell whether a call to the file system is about a copy of the project."""
    return any("snapshot" in str(argument) or "/work/" in str(argument) for argument in arguments)


def copying(project: Path, at: Callable[[int], None], counted: Path | None = None) -> int:
    """Type the command in a fork, and call a function before each of its calls to copies of the project."""

    def work() -> None:
        number = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal number
            if event in CALLS and threading.current_thread() is threading.main_thread() and copies(arguments):
                number += 1
                at(number)

        sys.argv = ["deviate", *shlex.split(f"{WORDS} {COMMAND}")]
        sys.addaudithook(hook)
        status = status_of(main_of_the_tool)
        if counted is not None:
            counted.write_text(str(number))
        sys.exit(status)

    return forked(work, project, variables(project)).status


CALLS = frozenset({"open", "os.mkdir", "os.rename", "os.symlink", "os.utime", "os.chmod", "shutil.copyfile",
                   "shutil.copystat", "os.remove", "os.rmdir", "shutil.rmtree"})  # fmt: skip

_calls: list[int] = []


def calls_of(project: Path) -> int:
    """Return how many calls to copies an undisturbed command makes."""
    if not _calls:
        counted = project.with_name("calls")
        if copying(project, lambda number: None, counted):
            sys.exit("the command fails without any kill")
        _calls.append(int(counted.read_text()))
        make(project)
    return _calls[0]


def half_copied(each: Round) -> Iterator[str]:
    """Kill the tool while it copies the project; every other time cut or remove the last file that it wrote."""
    at = each.rng.randint(1, calls_of(each.project))
    cut = each.rng.choice(["", "", "cut", "gone"])
    status = copying(each.project, lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == at else None)
    harmed = harm(last_copied(each.project), cut) if cut else None
    how = str(status) if status in (0, -signal.SIGKILL) else f"WRONG: status {status}"
    yield f"killed before call {at}{f', {harmed[0].name} {cut}' if harmed else ''}: {how}"
    yield from until_refused_or_done(each, harmed)


def harmed_snapshot(each: Round) -> Iterator[str]:
    """Cut or remove a file of the experiment's copy of the project while runs go on; every other time kill the tool."""
    tool, kept = start(each.project), each.project / ".deviate/experiments/e/snapshot.json"
    while tool.poll() is None and not kept.exists():
        time.sleep(0.02)
    time.sleep(each.rng.uniform(0, 3))
    if killed := each.rng.random() < 0.5:
        tool.kill()
        tool.wait()
    files = sorted(path for path in kept.with_name("snapshot").rglob("*.py"))
    cut = each.rng.choice(["cut", "gone"])
    harmed = harm(each.rng.choice(files), cut)
    how = "killed" if killed else ended(tool, {0, 1, 2}, "snapshot")
    yield f"{harmed[0].name if harmed else ''} {cut}: {how}"
    yield from until_refused_or_done(each, harmed)


def last_copied(project: Path) -> Path | None:
    """Return the file of a copy that was made last."""
    found = [path for path in (project / ".deviate").rglob("*.py") if not path.is_symlink()]
    return max(found, key=lambda path: path.stat().st_ctime_ns, default=None)


def harm(path: Path | None, cut: str) -> tuple[Path, bytes] | None:
    """Cut a file or remove it, as a crash of the machine may; return it with what it held."""
    if path is None:
        return None
    held = path.read_bytes()
    if cut == "gone":
        path.unlink()
    else:
        with path.open("r+b") as file:
            file.truncate(len(held) // 2)
    return path, held


def until_refused_or_done(each: Round, harmed: tuple[Path, bytes] | None) -> Iterator[str]:
    """Type the command until it is done; what is refused by name is restored."""
    for _ in range(MOST):
        tool = start(each.project)
        how = ended(tool, {0, 2}, "and runs are made from it")
        if how == "2" and harmed is not None:
            path, held = harmed
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(held)
            yield "refused, restored"
        else:
            yield how


HANGS = ["sleeps", "ignores signals", "computes", "waits for a child"]

FAULTS: dict[str, Fault] = {
    "hang": limited("--set stall=3", HANGS, "neither recorded"),
    "memory": limited("--set memory=0.4", ["itself", "a child"], "more memory than allowed"),
    "alike": fail_alike,
    "unlike": fail_differently,
    "clock": clock,
    "workers": workers,
    "half-copied": half_copied,
    "harmed copy": harmed_snapshot,
}


if __name__ == "__main__":
    main()
