"""Send SIGTERM or SIGINT to a command at every moment of its life, and look how it ends and what it leaves.

    python benchmarks/kills/signals.py                                    every 0.03 s, both signals, eight commands
    python benchmarks/kills/signals.py --moments 12 --commands run,report --out signals.json

Each trial makes the project anew, starts the command, sends the signal after so many seconds, and checks that

- the command ends by the signal, or as it always does where the signal came too late to be heard;
- it shows no traceback, and prints one JSON object or nothing;
- no training of it runs on, and its folder for temporary files is empty;
- the same command, typed again, does all of its work, with the result of commands that nobody disturbed
  (with ``--again 4``: in one trial of four, at moments that chance picks).

Leaves of the result in which undisturbed commands differ among each other, such as times, are not compared. Prints a
table and one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

#: A training of a tenth of a second, most of it the start of Python.
TRAIN = """\
import random

weight = random.gauss(0, 1)
for epoch in range(4):
    loss = 0.0
    for step in range(50):
        x = random.gauss(0, 1)
        weight -= 0.02 * 2 * x * (weight * x - 3 * x)
        loss += (weight * x - 3 * x) ** 2 / 50
    print(f"epoch {epoch} loss {loss:.6f}", flush=True)
"""

TABLE = "run,seed,test acc\n" + "".join(f"{run},{run},{90 + run / 7:.4f}\n" for run in range(6))

PYTHON = shlex.quote(sys.executable)

#: What is typed; experiments `first` and `second` are there.
COMMANDS = {
    "run": f"run -n 2 --name new --json -- {PYTHON} train.py",
    "run -j 2": f"run -n 2 -j 2 --name new --json -- {PYTHON} train.py",
    "run --set warm=true": f"run -n 2 --set warm=true --vary control --name new --json -- {PYTHON} train.py",
    "audit": f"audit --quick --json -- {PYTHON} train.py",
    "extract": f"extract --verify --json -- {PYTHON} train.py",
    "report": "report first --json",
    "compare": "compare first second --json",
    "import": "import results.csv --name taken --json",
}

SIGNALS = {"TERM": signal.SIGTERM, "INT": signal.SIGINT}

#: Seconds after the end in which processes of the command are still allowed, since the system takes its time, too.
GONE_WITHIN = 0.3

#: Of the seconds that a command takes, the share after which it is taken to have ended.
LONGER = 1.2

#: Seconds within which a command has to end.
PATIENCE = 120.0

#: Leaves that tell of the interruption itself: no training ran between the signal and the command typed again.
TELLING = ("/timeline/pauses", "/timeline/paused_s")

#: Leaves that tell which place a run had: one that is made again alone has the first.
PLACES = re.compile(r"/(cores/\d+|slot|lane)$")

SHOWN = ("Traceback", "Exception ignored", "Exception in thread", "Fatal Python error", "KeyboardInterrupt")


@dataclass
class Trial:
    """One signal, and what followed."""

    command: str
    signal: str
    #: Seconds after the start.
    moment: float
    status: int = 0
    #: Seconds from the signal to the end.
    seconds: float = 0.0
    #: The command had ended, or was about to end, by itself.
    late: bool = False
    #: Python itself had not yet read a line of Deviate, and showed a traceback of its own.
    before_deviate: bool = False
    #: The command was typed again.
    again: bool = False
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where commands are typed."""

    scratch: Path
    tool: list[str]

    @property
    def project(self) -> Path:
        """The project that is made anew for each trial, always at the same place."""
        return self.scratch / "project"

    @property
    def spare(self) -> Path:
        """The folder for temporary files."""
        return self.scratch / "spare"

    def renew(self) -> None:
        """Put the project as it was before the first command."""
        for folder in (self.project, self.spare):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.scratch / "template", self.project, symlinks=True)
        self.spare.mkdir()

    def start(self, words: str) -> subprocess.Popen[str]:
        """Type a command."""
        environment = {**os.environ, "TMPDIR": str(self.spare)}
        return subprocess.Popen(
            [*self.tool, *shlex.split(words)],
            cwd=self.project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def finish(self, words: str) -> tuple[int, str, str]:
        """Type a command and let it end."""
        tool = self.start(words)
        out, err = tool.communicate(timeout=PATIENCE)
        return tool.returncode, out, err

    def orphans(self) -> list[int]:
        """Return the processes of trainings of this project that run."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                ours = str(self.project) in process.environ().get("DEVIATE_RUNTIME", "")
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found


@dataclass(frozen=True)
class Undisturbed:
    """What a command does when nobody sends a signal."""

    status: int
    seconds: float
    #: The leaves of its result that are always the same.
    leaves: Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the trials, print what was found, and return 1 if anything is wrong."""
    options = parse(arguments)
    # A shell has its background jobs ignore Ctrl-C, and what is ignored stays so in what they start.
    for number in SIGNALS.values():
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch).resolve(), shlex.split(options.tool))
        make_template(place)
        known = {name: undisturbed(place, COMMANDS[name], options.undisturbed) for name in options.commands}
        trials = list(make_trials(place, known, options))
    print_table(trials, known)
    result = {
        "schema": 1,
        "step": None if options.moments else options.step,
        "start": options.start,
        "moments": options.moments,
        "seed": options.seed,
        "tool": options.tool,
        "commands": {name: COMMANDS[name] for name in options.commands},
        "undisturbed_seconds": {name: round(each.seconds, 2) for name, each in known.items()},
        "leaves_compared": {name: len(each.leaves) for name, each in known.items()},
        "signals_sent": len(trials),
        "typed_again": sum(each.again for each in trials),
        "with_faults": sum(bool(each.faults) for each in trials),
        "trials": [asdict(each) for each in trials if each.faults or each.before_deviate or options.all],
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        Path(options.out).write_text(text + "\n")
    return int(any(each.faults for each in trials))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=float, default=0.03, help="seconds between two moments")
    parser.add_argument("--start", type=float, default=0.03, help="the first moment")
    parser.add_argument("--moments", type=int, help="so many moments, spread over the usual length, instead of a step")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no trial after so many minutes")
    parser.add_argument("--undisturbed", type=int, default=3, help="commands whose results are compared before")
    parser.add_argument("--again", type=int, default=1, help="type the command again in one of so many trials")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signals", default="TERM,INT", type=lambda text: text.split(","))
    parser.add_argument("--commands", default=list(COMMANDS), type=lambda text: text.split(","))
    parser.add_argument("--tool", default=f"{PYTHON} -m deviate", help="how deviate is started")
    parser.add_argument("--all", action="store_true", help="list the trials without a fault, too")
    parser.add_argument("--out", help="also write the JSON object to this file")
    return parser.parse_args(arguments)


def make_template(place: Place) -> None:
    """Make a project with two experiments."""
    place.project.mkdir()
    place.spare.mkdir()
    (place.project / "train.py").write_text(TRAIN)
    (place.project / "results.csv").write_text(TABLE)
    for name in ("first", "second"):
        status, _, err = place.finish(f"run -n 3 --name {name} -- {PYTHON} train.py")
        if status:
            raise SystemExit(f"the project cannot be made: {err}")
    place.project.rename(place.scratch / "template")


def undisturbed(place: Place, words: str, times: int) -> Undisturbed:
    """Type a command several times; return what is common to its results."""
    results, statuses, seconds = [], set(), 0.0
    for _ in range(times):
        place.renew()
        began = time.monotonic()
        status, out, err = place.finish(words)
        seconds = time.monotonic() - began
        if status not in (0, 1):
            raise SystemExit(f"{words} ends with {status} without any signal:\n{err}")
        statuses.add(status)
        results.append(dict(leaves(json.loads(out))))
    (status,) = statuses
    first, *others = results
    same = {
        path: value
        for path, value in first.items()
        if path not in TELLING and not PLACES.search(path) and all(other.get(path) == value for other in others)
    }
    return Undisturbed(status, seconds, same)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each number, text and so on of a JSON value, with where it stands."""
    if isinstance(value, dict | list) and value:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            # Metrics stand in the order of how much they differ, which for times is chance.
            named = each["name"] if isinstance(value, list) and isinstance(each, dict) and "name" in each else key
            yield from leaves(each, f"{path}/{named}")
    else:
        yield path, value


def make_trials(place: Place, known: Mapping[str, Undisturbed], options: argparse.Namespace) -> Iterator[Trial]:
    """Yield a trial for each moment of each command at which it still ran, in random order: a part is a sweep, too."""
    trials = [
        Trial(name, number, round(moment, 3))
        for name, expected in known.items()
        for number in options.signals
        for moment in moments(expected.seconds, options)
    ]
    random.Random(options.seed).shuffle(trials)
    until = time.monotonic() + 60 * options.minutes
    for count, trial in enumerate(trials, start=1):
        if time.monotonic() > until:
            break
        if make_trial(place, trial, known[trial.command], again=count % options.again == 0):
            says = trial if trial.faults or trial.before_deviate else "ok"
            print(f"{count}/{len(trials)} {trial.command}, {trial.signal}: {says}", file=sys.stderr, flush=True)
            yield trial


def moments(length: float, options: argparse.Namespace) -> list[float]:
    """Return when signals are sent to a command that takes so many seconds, which is more on a busy machine."""
    end = length * LONGER
    step = (end - options.start) / options.moments if options.moments else options.step
    return [options.start + count * step for count in range(math.ceil((end - options.start) / step))]


def make_trial(place: Place, trial: Trial, expected: Undisturbed, *, again: bool) -> bool:
    """Make one trial; tell whether the command still ran when the signal was sent."""
    place.renew()
    tool = place.start(COMMANDS[trial.command])
    try:
        # Its output must not fill the pipe meanwhile.
        tool.communicate(timeout=trial.moment)
        return False
    except subprocess.TimeoutExpired:
        pass
    sent = time.monotonic()
    tool.send_signal(SIGNALS[trial.signal])
    try:
        out, err = tool.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        tool.kill()
        out, err = tool.communicate()
        trial.faults.append("it did not end")
    trial.status, trial.seconds = tool.returncode, round(time.monotonic() - sent, 3)
    judge_end(place, trial, expected, out, err)
    if again:
        judge_again(place, trial, expected)
    return True


def judge_end(place: Place, trial: Trial, expected: Undisturbed, out: str, err: str) -> None:
    """Add to the faults of a trial what is wrong with how the command ended, and with what it left."""
    trial.late = trial.status == expected.status and trial.seconds < 1.0 and is_one_object(out)
    trial.before_deviate = any(each in err for each in SHOWN) and "deviate" not in err.replace("-m deviate", "")
    if trial.status != -SIGNALS[trial.signal] and not trial.late and not trial.before_deviate:
        trial.faults.append(f"it ended with {trial.status}")
    if any(each in err for each in SHOWN) and not trial.before_deviate:
        trial.faults.append(f"it showed: {err[-600:]}")
    if out and not is_one_object(out):
        trial.faults.append(f"it printed {len(out)} characters that are no JSON object")
    until = time.monotonic() + GONE_WITHIN
    while (orphans := place.orphans()) and time.monotonic() < until:
        time.sleep(0.02)
    if orphans:
        trial.faults.append(f"{len(orphans)} processes still run")
    if left := sorted(each.name for each in place.spare.iterdir()):
        trial.faults.append(f"it left {left} among the temporary files")


def judge_again(place: Place, trial: Trial, expected: Undisturbed) -> None:
    """Type the command again, and add to the faults what is not as if it had never been disturbed."""
    if trial.command == "import" and (place.project / ".deviate/experiments/taken/experiment.json").exists():
        # What is there is not imported twice.
        return
    trial.again = True
    status, out, err = place.finish(COMMANDS[trial.command])
    if status != expected.status:
        trial.faults.append(f"typed again, it ended with {status}: {err[-400:]}")
        return
    found = dict(leaves(json.loads(out)))
    other = [path for path, value in expected.leaves.items() if found.get(path) != value]
    if other:
        trial.faults.append(f"typed again, {len(other)} of {len(expected.leaves)} leaves differ: {other[:5]}")


def is_one_object(text: str) -> bool:
    """Tell whether a text is one JSON object."""
    with suppress(ValueError):
        return isinstance(json.loads(text), dict)
    return False


def print_table(trials: Sequence[Trial], known: Mapping[str, Undisturbed]) -> None:
    """Print a line for each command and signal."""
    heads = ("sent", "typed again", "longest end (s)", "before Deviate", "with faults")
    print(f"{'command':<12}{'signal':<8}" + "".join(f"{head:>17}" for head in heads))
    for name in known:
        for number in SIGNALS:
            chosen = [each for each in trials if (each.command, each.signal) == (name, number)]
            longest = max((each.seconds for each in chosen), default=0.0)
            counts = (
                len(chosen),
                sum(each.again for each in chosen),
                f"{longest:.2f}",
                sum(each.before_deviate for each in chosen),
                sum(bool(each.faults) for each in chosen),
            )
            print(f"{name:<12}{number:<8}" + "".join(f"{count:>17}" for count in counts))


if __name__ == "__main__":
    sys.exit(main())
