"""What a user asks for with ``deviate run``, and what can be refused of it before anything is read.

What the user may want otherwise of the runs of an experiment; whether the clock was set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Literal

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import DEFAULT_PREDICTIONS, DEFAULT_RUNS, DEFAULT_WEIGHTS
from deviate.core.factors import DEFAULT_VARIANT, parse_variants
from deviate.core.shell_words import typed_line
from deviate.runs.containers import ContainerWish, check_wish
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, ENGINES, EXPORTED, check_executor
from deviate.runs.kept import CAPTURED_PREDICTIONS, WEIGHT_SUFFIXES, is_file
from deviate.runs.kept import CAPTURED_WEIGHTS as WEIGHT_KINDS
from deviate.source.config import EvaluateEntry, TypedSettings, read_config, said
from deviate.store.folders import PREDICTION_SUFFIXES


class Request(TypedSettings, frozen=True, kw_only=True):
    """What a user asks for with ``deviate run``: of each setting what is typed, else what ``deviate.toml`` says."""

    command: list[str]
    runs: int = DEFAULT_RUNS
    variants: tuple[str, ...] = (DEFAULT_VARIANT,)
    name: str | None = None
    project: Path | None = None
    #: Where the user stands; None: where the process does.
    here: Path | None = None
    #: None: as many as the runs there are, or one.
    jobs: int | None = None
    #: GPUs of this machine that runs share: ``all``, how many, or a list as CUDA_VISIBLE_DEVICES has it; None: those
    #: that are visible.
    gpus: str | None = None
    #: Where runs are started, by its word in `deviate.runs.executors.executor`; None: see
    #: `deviate.runs.pipeline`.
    executor: str | None = None
    #: A file of what each run reads from standard input; None: nothing, or what the experiment has.
    stdin: Path | None = None
    #: Go on where the first runs of a variant fail alike.
    even_so: bool = False
    seed: int = 0
    retry_failed: bool = False
    #: Add runs to the experiment although the project was changed since; they are marked.
    edited: bool = False
    #: What is kept of predictions, see `Experiment`.
    predictions: str = DEFAULT_PREDICTIONS
    #: What is kept of weights, see `Experiment`.
    weights: str = DEFAULT_WEIGHTS
    #: ``METRIC ±WIDTH``: go on until it is known so well; ``decided against B``: until it is shown which is better.
    #: `runs` are then those before the first look.
    until: str | None = None
    #: Runs of a variant at most, with `until`.
    most: int | None = None
    #: Commands that are run in the folder of each run after its training.
    then: tuple[str, ...] = ()
    #: Evaluations beside those of ``deviate.toml``, and variables of theirs and of all others.
    evaluate: tuple[EvaluateEntry, ...] = ()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    #: Say what would be submitted, and submit nothing.
    print_script: bool = False

    @property
    def trains(self) -> bool:
        """Whether a command is given; without one, the runs of a named experiment are evaluated."""
        return bool(self.command) or self.name is None


def option_words(request: Request) -> list[str]:
    """Return the options that decide what a run is, as they are typed.

    >>> option_words(Request(command=["sh", "go.sh"], entry="train.py", exclude=("*.ckpt",), jobs=2))
    ['-j', '2', '--set', 'entry=train.py', '--set', 'exclude=*.ckpt']
    """
    single = {
        "--project": request.project,
        "-j": request.jobs,
        "--gpus": request.gpus,
        "--executor": None if request.executor == DEFAULT_EXECUTOR else request.executor,
        "--predictions": None if request.predictions == DEFAULT_PREDICTIONS else request.predictions,
        "--weights": None if request.weights == DEFAULT_WEIGHTS else request.weights,
    }
    words = [word for name, value in single.items() if value is not None for word in (name, str(value))]
    given = {name: value for name, value in said(request, TypedSettings).items() if name not in _NO_MATTER}
    words += [
        word for name, value in given.items() for text in _set_texts(value) for word in ("--set", f"{name}={text}")
    ]
    return words


#: Settings that decide what is kept of a run and not what it is.
_NO_MATTER = ("discard_work",)


def _set_texts(value: object) -> list[str]:
    """Return how ``--set`` says a value: several are said one by one."""
    if isinstance(value, tuple):
        return [text for each in value for text in _set_texts(each)]
    return [f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)]


# What can be refused of a request before anything is read.

#: Runs of a variant, each with a folder of its own, and runs side by side, at most: more is a slip of the finger.
MOST_RUNS = 100_000
MOST_JOBS = 4096

#: The highest exit status.
MOST_STATUS = 255


def check_request(request: Request) -> None:
    """Refuse numbers that make no sense, before anything is read.

    Raises BadOption naming the option, what it must be and what it is.
    """
    if not request.command and request.trains:
        raise BadOption(
            "no command to train with",
            hint="type it after --, such as deviate run -- python train.py; or list [[experiment]] in deviate.toml",
        )
    if "\0" in "".join(request.command):
        raise BadOption(f"no program can be given {typed_line(request.command)}", hint="leave out the NUL character")
    if request.runs < 1:
        raise BadOption(f"-n must be at least 1, found {request.runs}", hint="type -n 10 for a first look")
    if request.runs > MOST_RUNS:
        raise BadOption(f"-n must be at most {MOST_RUNS:,}, found {request.runs:,}", hint="type -n 30, then more")
    if request.seed < 0:
        raise BadOption(f"--seed must be at least 0, found {request.seed}", hint="type --seed 1")
    if request.jobs is not None and request.jobs > MOST_JOBS:
        raise BadOption(f"--jobs must be at most {MOST_JOBS:,}, found {request.jobs:,}", hint="type -j 4")
    if request.most is not None and request.most > MOST_RUNS:
        raise BadOption(f"--max must be at most {MOST_RUNS:,}, found {request.most:,}", hint="leave it out")
    if request.jobs is not None and request.jobs < 1:
        raise BadOption(f"--jobs must be at least 1, found {request.jobs}", hint="type -j 1 for one run after another")
    check_executor(request.executor or DEFAULT_EXECUTOR)
    check_cluster(request)
    check_local(request)
    if request.container is not None and request.warm:
        raise BadOption("warm forks runs on this machine, not in a container", hint="leave warm or container out")
    limits = (
        ("timeout", request.timeout, "seconds"),
        ("stall", request.stall, "seconds"),
        ("memory", request.memory, "GiB"),
    )
    for name, value, unit in limits:
        if value is not None and not value > 0:
            raise BadOption(f"{name} must be above 0 {unit}, found {value:g}", hint="leave it out for none")
    if wrong := [status for status in request.accept_status if not 0 <= status <= MOST_STATUS]:
        raise BadOption(
            f"accept_status must list numbers from 0 to {MOST_STATUS}, found {wrong[0]}",
            hint="type --set accept_status=0,1",
        )
    parse_variants(request.variants)
    _check_predictions(request.predictions)
    _check_weights(request.weights)


def check_local(request: Request) -> None:
    """Refuse options of this machine for runs elsewhere, and a GPU without a run."""
    here = {"warm": request.warm, "--gpus": request.gpus is not None, "per_gpu": request.per_gpu is not None}
    named = next((name for name, given in here.items() if given), None)
    if named is not None and request.executor in ENGINES:
        raise BadOption(f"{named} is for runs on this machine", hint="leave it out, or type --executor local")
    if request.per_gpu is not None and not 1 <= request.per_gpu <= MOST_JOBS:
        raise BadOption(
            f"per_gpu must be from 1 to {MOST_JOBS:,}, found {request.per_gpu}", hint="type --set per_gpu=2"
        )


def container_wish(request: Request, project: Path) -> ContainerWish | None:
    """Return what is wanted of containers; None where runs are started in none.

    Raises BadOption if it is none that can be.
    """
    # Who starts printed commands starts them in the image.
    if request.container is None or request.executor == EXPORTED:
        return None
    entry = read_config(project).container
    wish = ContainerWish(
        image=request.container, engine=entry.engine, mount=tuple(entry.mount), options=tuple(entry.options)
    )
    check_wish(wish)
    return wish


def check_cluster(request: Request) -> None:
    """Refuse options of clusters for runs on this machine, and those of one cluster for another."""
    options: dict[str, tuple[object, Sequence[str]]] = {
        "partition": (request.partition, ["slurm"]),
        "time": (request.time, ["slurm"]),
        "address": (request.address, ["ray"]),
        "scratch": (request.scratch, ENGINES),
        "gres": (request.gres, ENGINES),
        "cpus": (request.cpus, ENGINES),
        "--print": (request.print_script or None, ENGINES),
    }
    for named, engines in ((name, engines) for name, (value, engines) in options.items() if value is not None):
        if request.executor not in engines:
            where = "a cluster" if len(engines) > 1 else f"a cluster of {engines[0].capitalize()}"
            words = " or ".join(f"--executor {engine}" for engine in engines)
            raise BadOption(f"{named} is for runs on {where}", hint=f"add {words}, or leave it out")
    if request.scratch and not request.scratch.startswith(("/", "$")):
        raise BadOption(
            f"scratch must be an absolute path on each machine of the cluster, found {request.scratch!r}",
            hint="type --set scratch=/scratch, or a variable that jobs have: --set 'scratch=$TMPDIR'",
        )
    if request.executor == EXPORTED and not request.print_script:
        raise BadOption(
            f"--executor {EXPORTED} prints a command for each run, and starts none",
            hint="add --print, and have your scheduler run the lines",
        )
    if request.cpus is not None and request.cpus < 1:
        raise BadOption(f"cpus must be at least 1, found {request.cpus}", hint="type --set cpus=4")


def _check_predictions(predictions: str) -> None:
    path = PurePath(predictions)
    if is_file(predictions) and (path.suffix not in PREDICTION_SUFFIXES or path.is_absolute() or ".." in path.parts):
        raise BadOption(
            f"--predictions must be {', '.join(CAPTURED_PREDICTIONS)}, or a file that each run writes into its folder "
            f"with the suffix {', '.join(PREDICTION_SUFFIXES)}, found {predictions!r}",
            hint="type --predictions labels, or --predictions preds.csv",
        )


def _check_weights(weights: str) -> None:
    path = PurePath(weights)
    known = path.suffix in WEIGHT_SUFFIXES and not path.is_absolute() and ".." not in path.parts
    every = weights.removeprefix("every:")
    counts = every != weights and every.isascii() and every.isdecimal() and int(every) > 0
    if weights not in WEIGHT_KINDS and not (counts or known):
        raise BadOption(
            "--weights must be none, digest, small, final, every:K with K of at least 1, or match files that each run "
            f"writes into its folder with the suffix {', '.join(WEIGHT_SUFFIXES)}, found {weights!r}",
            hint="type --weights final, --weights every:10, or --weights 'checkpoints/*.pt'",
        )


class ReplicateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user may want otherwise."""

    #: Seconds a run may take.
    timeout: float | None = None
    #: Seconds a run may neither record nor print anything.
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: Make runs again that failed, ran for too long or were not instrumented.
    retry_failed: bool = False
    #: Make runs again that were ended from outside.
    retry_killed: bool = False
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: What the first run of a fresh experiment does before others start: one iteration of its main loop, with values
    #: recorded, or all. Where it records nothing, the caller stops there.
    probe: Literal["nothing", "iteration", "run"] = "run"
    #: Keep the work folder of completed runs: it holds what they saved. Those of other runs are always kept.
    keep_work: bool = True
    #: Have operations without a deterministic form end the run, where the implementation is held fixed.
    strict: bool = False
    #: Start no run on a machine that is not like that of the first one.
    same_hardware: bool = False
    container: ContainerWish | None = None
    #: What readers of the results have to know of these runs.
    warnings: tuple[str, ...] = ()


# Notice that the clock of the machine was set while a command ran.

#: Seconds that a clock is set by at least: less is what keeps it right.
LEAST = 2.0

#: Goes on while the machine sleeps, where the system has such a clock.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock_offset() -> float:
    """Return by how many seconds the time of day is ahead of a clock that nobody sets."""
    return time.time() - time.clock_gettime(_STEADY)


def clock_warnings(before: float) -> list[str]:
    """Return a warning where the clock was set since its offset was `before`."""
    moved = clock_offset() - before
    if abs(moved) < LEAST:
        return []
    way = "forward" if moved > 0 else "back"
    return [
        f"The clock of its machine was set {way} by {abs(moved):.0f} s during this run: times that the program takes "
        "from the time of day are wrong, and the order of its files may be."
    ]
