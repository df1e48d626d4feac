"""What a user asks for with ``deviate run``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from deviate.experiment import DEFAULT_PREDICTIONS, DEFAULT_RUNS, DEFAULT_WEIGHTS
from deviate.factors import DEFAULT_VARIANT
from deviate.project.config import EvaluateEntry
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for with ``deviate run``."""

    command: list[str]
    runs: int = DEFAULT_RUNS
    variants: tuple[str, ...] = (DEFAULT_VARIANT,)
    name: str | None = None
    entry: str | None = None
    project: Path | None = None
    #: Where the user stands; None: where the process does.
    here: Path | None = None
    #: None: as many as the runs there are, or one.
    jobs: int | None = None
    #: GPUs of this machine that runs share: ``all``, how many, or a list as CUDA_VISIBLE_DEVICES has it; None: those
    #: that are visible.
    gpus: str | None = None
    #: Runs that share a GPU; None: one, or as many as `jobs` make it.
    per_gpu: int | None = None
    #: Where runs are started, by its word in `deviate.replicate.executors.registry`; None: see
    #: `deviate.study.placement`.
    executor: str | None = None
    timeout: float | None = None
    #: Seconds after which a run is ended that neither records nor prints anything.
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: A file of what each run reads from standard input; None: nothing, or what the experiment has.
    stdin: Path | None = None
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: Fork runs from a process that has imported their frameworks.
    warm: bool = False
    #: Start no run on a machine that is not like that of the first one.
    same_hardware: bool = False
    #: ``IMAGE`` or ``ENGINE://IMAGE``: what runs are started in; None: as they are.
    container: str | None = None
    #: Go on where failures repeat, and train what would come out equal.
    even_so: bool = False
    #: Share trainings, too, where variants differ in the implementation alone and nothing of it was seen to vary.
    skip_alike: bool = False
    seed: int = 0
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    retry_failed: bool = False
    #: Add runs to the experiment although the project was changed since; they are marked.
    anyway: bool = False
    discard_work: bool = False
    strict: bool = False
    #: ``FILE:LINE=NAME``: factors of draws, above what ``deviate.toml`` says.
    factor: tuple[str, ...] = ()
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
    environment: dict[str, str] = {}
    #: Of a run on a cluster, in the cluster's words; None: as ``deviate.toml`` says.
    partition: str | None = None
    time: str | None = None
    gres: str | None = None
    cpus: int | None = None
    #: Folder of each machine of the cluster in which its runs are made.
    scratch: str | None = None
    #: Of a Ray cluster.
    address: str | None = None
    #: Say what would be submitted, and submit nothing.
    print_script: bool = False

    @property
    def trains(self) -> bool:
        """Whether a command is given; without one, the runs of a named experiment are evaluated."""
        return bool(self.command) or self.name is None


def option_words(request: Request) -> list[str]:
    """Return the options that decide what a run is, as they are typed.

    Examples
    --------
    >>> option_words(Request(command=["sh", "go.sh"], entry="train.py", exclude=("*.ckpt",), jobs=2, strict=True))
    ['--entry', 'train.py', '-j', '2', '--exclude', '*.ckpt', '--strict']
    """
    single = {
        "--entry": request.entry,
        "--project": request.project,
        "-j": request.jobs,
        "--gpus": request.gpus,
        "--per-gpu": request.per_gpu,
        "--container": request.container,
        "--executor": None if request.executor == DEFAULT_EXECUTOR else request.executor,
        "--partition": request.partition,
        "--time": request.time,
        "--gres": request.gres,
        "--cpus": request.cpus,
        "--scratch": request.scratch,
        "--address": request.address,
        **{
            f"--{name}": None if value is None else f"{value:g}"
            for name, value in (("timeout", request.timeout), ("stall", request.stall), ("memory", request.memory))
        },
        "--accept-status": ",".join(map(str, request.accept_status)) or None,
        "--predictions": None if request.predictions == DEFAULT_PREDICTIONS else request.predictions,
        "--weights": None if request.weights == DEFAULT_WEIGHTS else request.weights,
    }
    several = {
        "--include": request.include,
        "--exclude": request.exclude,
        "--link": request.link,
        "--factor": request.factor,
    }
    words = [word for name, value in single.items() if value is not None for word in (name, str(value))]
    words += [word for name, values in several.items() for value in values for word in (name, value)]
    flags = {
        "--strict": request.strict,
        "--skip-alike": request.skip_alike,
        "--warm": request.warm,
        "--same-hardware": request.same_hardware,
    }
    return [*words, *(name for name, given in flags.items() if given)]
