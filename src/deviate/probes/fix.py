"""Try switches on a program that does not repeat as it is, one at a time and together, until it does.

Nothing is seeded and no draw is held: each run is the program as it is, but for the switches that are tried.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from deviate.core.experiment import SCHEMA, Run
from deviate.core.factors import HELD_KERNELS, OBSERVED
from deviate.core.secrets import mask_words
from deviate.observe.events import surroundings, used_gpu
from deviate.observe.metrics import TIME_PER_RUN
from deviate.observe.records import RunFiles
from deviate.probes.audit import FIXED_VARIABLE
from deviate.probes.causes import AGREEING
from deviate.probes.certificate import Parting
from deviate.probes.certify import CONTROL, parting_of
from deviate.probes.price import prices, repeats
from deviate.probes.training import Failure, Trained, open_trainings, train
from deviate.probes.trial import Announce, Trials
from deviate.runs.prepared import prepare_request
from deviate.runs.request import Request
from deviate.stats.effects import HeldPrice

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Switch:
    """What may make a program repeat without an edit of what it computes."""

    #: As it is typed, in the environment or in the program.
    typed: str
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    threads: int | None = None
    #: It is set by the runtime in the process.
    holds_kernels: bool = False
    #: Only where a GPU is used; a library of these is loaded; there are several processes.
    on_gpu: bool = False
    library: str = ""
    with_workers: bool = False


#: In the order in which they are tried; one alone that costs as much as another one is named first.
SWITCHES = (
    Switch("PYTHONHASHSEED=0", variables={"PYTHONHASHSEED": "0"}),
    Switch("CUBLAS_WORKSPACE_CONFIG=:4096:8", variables={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}, on_gpu=True),
    Switch("NVIDIA_TF32_OVERRIDE=0", variables={"NVIDIA_TF32_OVERRIDE": "0"}, on_gpu=True),
    Switch("DataLoader(num_workers=0)", variables={FIXED_VARIABLE: "workers"}, library="torch", with_workers=True),
    Switch("torch.use_deterministic_algorithms(True)", holds_kernels=True, library="torch"),
    Switch("tf.config.experimental.enable_op_determinism()", holds_kernels=True, library="tensorflow"),
    Switch("XLA_FLAGS=--xla_gpu_deterministic_ops=true", holds_kernels=True, library="jax", on_gpu=True),
    Switch("OMP_NUM_THREADS=1", threads=1),
)


class Mended(msgspec.Struct, frozen=True, kw_only=True):
    """Switches under which a program repeats, and their price against the program as it is."""

    switches: list[str]
    prices: list[HeldPrice]

    @property
    def time(self) -> float:
        """Time of a run, as a multiple of that of the program as it is."""
        return next((each.ratio for each in self.prices if each.metric == TIME_PER_RUN and each.ratio), 1.0)


class Fixed(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a program repeats, and under which switches it does."""

    schema: int = SCHEMA
    command: list[str]
    #: Runs that have to be equal to say that it repeats.
    runs: int = AGREEING
    failure: Failure | None = None
    #: The program repeats as it is.
    repeats: bool = False
    #: Where two runs of it first differ; null where only what no value shows does.
    parting: Parting | None = None
    #: Switches that were tried, alone and together.
    tried: list[str] = []
    #: The cheapest first; empty: under none it repeats.
    mended: list[Mended] = []
    #: Whether it repeats with all draws held as well; null: not tried.
    held: bool | None = None

    @property
    def status(self) -> int:
        """The exit status."""
        return 0 if self.repeats or self.mended else 1


def fix(request: Request, announce: Announce = lambda text: None) -> Fixed:
    """Find the cheapest switches under which a program repeats; it is trained in full many times.

    Raises BadInput as ``deviate run`` does, before anything is written.
    """
    prepared = prepare_request(request, scripted=False)
    facts = Fixed(command=mask_words(prepared.target.command))
    with open_trainings(prepared, ["certify", "--fix"], [OBSERVED.name, CONTROL]) as trials:
        return _Fixing(trials, announce).look(facts)


#: Switches that are tried together.
Set = tuple[Switch, ...]


class _Fixing:
    """The trainings of one program."""

    def __init__(self, trials: Trials, announce: Announce) -> None:
        self.trials = trials
        self.announce = announce
        self.made = 0

    def look(self, facts: Fixed) -> Fixed:
        """Train until it is known what makes the program repeat."""
        runs = list(self._until_apart(self._train))
        if runs[-1].failure is not None or repeats(runs):
            return msgspec.structs.replace(facts, failure=runs[-1].failure, repeats=runs[-1].failure is None)
        difference, _ = runs[0].parts_from(runs[-1])
        switches = tuple(applicable(runs[0].files))
        mended = sorted(self._mended(switches), key=lambda each: each.time)
        held = None if mended else self._repeats(functools.partial(self._train, variant=CONTROL))
        tried, parting = [switch.typed for switch in switches], parting_of(difference) if difference else None
        return msgspec.structs.replace(facts, parting=parting, tried=tried, mended=mended, held=held)

    def _mended(self, switches: Set) -> list[Mended]:
        """Return what makes it repeat: single switches, or else as few of all together as are needed."""
        alone = [(switch,) for switch in switches]
        found = self._in_turn([*alone, *([switches] if len(switches) > 1 else [])])
        if not found or any(len(each.switches) == 1 for each in found):
            return [each for each in found if len(each.switches) == 1]
        needed = switches
        for switch in switches:
            fewer = tuple(each for each in needed if each is not switch)
            if self._repeats(functools.partial(self._train, fewer)):
                needed = fewer
        return found if needed == switches else self._in_turn([needed])

    def _repeats(self, make: Callable[[], Trained]) -> bool:
        runs = list(self._until_apart(make))
        return runs[-1].failure is None and repeats(runs)

    def _in_turn(self, sets: Sequence[Set]) -> list[Mended]:
        """Train in rounds, each the program as it is and with each set that has not failed or differed before."""
        plain: list[Trained] = []
        runs: dict[Set, list[Trained]] = {each: [] for each in sets}
        for _ in range(AGREEING):
            plain += [self._train()] if runs else []
            for each in list(runs):
                runs[each].append(self._train(each))
                if runs[each][-1].failure is not None or not repeats(runs[each]):
                    del runs[each]
        sides = {each: prices(_name(each), made, AS_IT_IS, plain) for each, made in runs.items()}
        return [Mended(switches=[switch.typed for switch in each], prices=found) for each, found in sides.items()]

    def _until_apart(self, make: Callable[[], Trained]) -> Iterator[Trained]:
        """Make runs until one fails or differs from the first."""
        first = run = make()
        yield first
        for _ in range(AGREEING - 1):
            if run.failure is not None or not repeats([first, run]):
                return
            run = make()
            yield run

    def _train(self, switches: Set = (), variant: str = "") -> Trained:
        self.announce(f"run {self.made + 1}: {_name(switches) if not variant else 'everything held'}")
        variables = {name: value for switch in switches for name, value in switch.variables.items()}
        threads = next((switch.threads for switch in switches if switch.threads), None)
        held = any(switch.holds_kernels for switch in switches)
        name = variant or (HELD_KERNELS.name if held else OBSERVED.name)
        trial = self.trials.prepare(Run(variant=name, index=self.made), variables, threads)
        self.made += 1
        return train(self.trials, trial, _name(switches))


def _name(switches: Set) -> str:
    return " and ".join(switch.typed for switch in switches) or AS_IT_IS


def applicable(run: RunFiles) -> Iterator[Switch]:
    """Yield the switches that may matter to a program, by a run of it as it is."""
    known, gpu = surroundings(run), used_gpu(run)
    for switch in SWITCHES:
        loaded = not switch.library or f"libraries.{switch.library}" in known
        alone = switch.with_workers and len(run.processes) < 2
        if loaded and not alone and (gpu or not switch.on_gpu):
            yield switch
