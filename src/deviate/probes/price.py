"""What holding kernels costs a training: runs with them held and with them free, in turn, everything else held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Run
from deviate.core.secrets import mask_words
from deviate.observe.events import surroundings, used_gpu
from deviate.observe.metrics import TIME_PER_ITERATION, TIME_PER_RUN
from deviate.observe.processes import run_processes
from deviate.probes.training import Failure, Trained, open_trainings, train
from deviate.probes.trial import Announce, Trials
from deviate.runs.prepared import prepare_request
from deviate.runs.request import Request
from deviate.stats.effects import LEAST_PAIRS, HeldPrice, paired_price
from deviate.store.folders import RunFolder
from deviate.store.records import TICK

HELD, FREE = "control", "impl"

#: Pairs of runs where the user does not say.
DEFAULT_PAIRS = 5

PROCESSOR_TIME, PEAK_MEMORY, GPU_MEMORY = "processor time", "peak memory", "GPU memory"


#: Set in the runs in which operations are timed, and what these write.
KERNELS_VARIABLE, KERNELS_FILE = "DEVIATE_KERNELS", "kernels.json"

#: Operations that are said to cost most.
MOST_SHOWN = 10


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds an update that an operation took itself, on the processor or on devices; 0: it was not called."""

    operation: str
    held: float
    free: float


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """What held kernels cost."""

    schema: int = SCHEMA
    command: list[str]
    failure: Failure | None = None
    #: Of each time and memory that was measured in all runs.
    prices: list[HeldPrice] = []
    #: Whether kernels could have varied where they were free: false with pinned threads and no GPU.
    may_vary: bool = True
    #: Whether the runs with free kernels, and those with held ones, equal each other bit by bit.
    free_repeats: bool = False
    held_repeats: bool = False
    #: What took most in a further run of each, of PyTorch, under its profiler.
    kernels: list[Kernel] = []

    @property
    def status(self) -> int:
        """The exit status."""
        return 1 if self.failure else 0


def price(request: Request, pairs: int = DEFAULT_PAIRS, announce: Announce = lambda text: None) -> Priced:
    """Train with kernels held and free, in turn, and compare what the runs took; no experiment is made.

    Raises BadInput as ``deviate run`` does, before anything is written.
    """
    if pairs < LEAST_PAIRS:
        raise BadOption(f"-n must be at least {LEAST_PAIRS}, found {pairs}", hint="type -n 5")
    prepared = prepare_request(request, scripted=False)
    command = mask_words(prepared.target.command)
    made: dict[str, list[Trained]] = {HELD: [], FREE: []}
    with open_trainings(prepared, ["certify", "--price"], list(made)) as trials:
        for index in range(pairs):
            announce(f"pair {index + 1} of {pairs}")
            # Each comes first in every second pair, so that a machine that grows busy meets both alike.
            for variant in (HELD, FREE) if index % 2 else (FREE, HELD):
                run = train(trials, trials.prepare(Run(variant=variant, index=index)))
                if run.failure is not None:
                    return Priced(command=command, failure=run.failure)
                made[variant].append(run)
        free, timed = made[FREE][0].files, dict[str, Times]()
        if "libraries.torch" in surroundings(free):
            announce("where the time goes")
            timed = {name: _timed(trials, Run(variant=name, index=pairs)) for name in made}
        return Priced(
            command=command,
            prices=prices(HELD, made[HELD], FREE, made[FREE]),
            may_vary=used_gpu(free) or free.info is None or free.info.threads is None,
            free_repeats=repeats(made[FREE]),
            held_repeats=repeats(made[HELD]),
            kernels=costliest(timed[HELD], timed[FREE]) if timed else [],
        )


#: Milliseconds an update, by operation.
Times = dict[str, float]


def _timed(trials: Trials, run: Run) -> Times:
    """Train once more under the profiler and return what each operation took."""
    trial = trials.prepare(run, {KERNELS_VARIABLE: "1"})
    train(trials, trial)
    path = next(iter(trial.ready.folder.path.rglob(KERNELS_FILE)), None)
    return {} if path is None else read_times(path.read_bytes())


def read_times(data: bytes) -> Times:
    """Return what operations took by the profile of a run: on devices where one took any, else on the processor."""
    known = msgspec.json.decode(data)
    place = 2 if any(each[2] for each in known["operations"].values()) else 1
    updates = max(known["updates"], 1)
    return {name: each[place] / 1000 / updates for name, each in known["operations"].items() if each[place]}


def costliest(held: Times, free: Times) -> list[Kernel]:
    """Return the operations that took most, where kernels are held or where they are free."""
    names = sorted({**held, **free}, key=lambda name: -max(held.get(name, 0), free.get(name, 0)))
    rounded = [(name, round(held.get(name, 0.0), 4), round(free.get(name, 0.0), 4)) for name in names[:MOST_SHOWN]]
    return [Kernel(operation=name, held=one, free=other) for name, one, other in rounded]


def repeats(made: Sequence[Trained]) -> bool:
    """Tell whether trainings equal the first one bit by bit."""
    return all(made[0].parts_from(each) == (None, []) for each in made[1:])


def prices(held: str, held_runs: Sequence[Trained], free: str, free_runs: Sequence[Trained]) -> list[HeldPrice]:
    """Compare what runs took that were made in turn."""
    taken = [(_taken(one), _taken(other)) for one, other in zip(held_runs, free_runs, strict=True)]
    known = [name for name in taken[0][0] if all(name in each for pair in taken for each in pair)]
    return [paired_price(held, free, name, [(one[name], other[name]) for one, other in taken]) for name in known]


def _taken(training: Trained) -> Mapping[str, float]:
    ended = training.ended
    taken = {
        TIME_PER_ITERATION: _iteration_seconds(training.files.folder),
        TIME_PER_RUN: ended.seconds,
        PROCESSOR_TIME: ended.cpu_seconds,
        PEAK_MEMORY: ended.peak_memory,
        GPU_MEMORY: ended.gpu_memory,
    }
    return {name: value for name, value in taken.items() if value}


def _iteration_seconds(folder: RunFolder) -> float | None:
    """Return the median time of an iteration of the main loop; None where there were not two."""
    records = [process.records() for process in run_processes(folder) if process.record_file is not None]
    steps = [np.diff(each["elapsed"][each["id"] == TICK]) for each in records]
    longest = max(steps, key=len, default=np.empty(0))
    return float(np.median(longest)) if len(longest) else None
