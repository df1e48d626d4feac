"""The weights that the completed runs of each variant ended with, and those that were kept on the way.

The facts about weights: how far those of different runs lie apart, at the end and on the way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.facts.predictions import Evaluation, Kept, main_evaluation
from deviate.facts.samples import Sample
from deviate.facts.stability import ONE_RUN
from deviate.observe.headline import main_first
from deviate.observe.predictions import Array, Frame
from deviate.observe.records import RunFiles
from deviate.observe.weights import Moment, NoCheckpointError, read_weights
from deviate.stats.pairs import Estimate
from deviate.stats.weights import FEWEST_EXAMPLES, mean_cka, weight_distances
from deviate.store.integrity import DamagedError

if TYPE_CHECKING:
    import pandas as pd


#: Characters of a digest: equal ones mean equal numbers, as far as anybody can find others.
DIGITS = 32


class RunWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of one run, or why there are none."""

    #: By name; maps of the file, so that nothing is read before it is needed.
    layers: dict[str, Array] = {}
    #: The same after iterations of the main loop, or in each file that the run wrote.
    moments: dict[Moment, dict[str, Array]] = {}
    #: Empty where they could be read.
    reason: str = ""


def weights_by_variant(runs: Iterable[RunFiles]) -> dict[str, dict[str, RunWeights]]:
    """Return the weights by variant and run, of the runs that kept some."""
    kept: dict[str, dict[str, RunWeights]] = {}
    for run in runs:
        if run.completed and run.folder.weight_files():
            kept.setdefault(run.variant, {})[run.name] = _read(run)
    return kept


def _read(run: RunFiles) -> RunWeights:
    try:
        weights = read_weights(run)
    except (DamagedError, NoCheckpointError) as error:
        return RunWeights(reason=str(error))
    return RunWeights(layers=weights.final, moments=weights.moments)


def weights_table(variants: Mapping[str, Mapping[str, RunWeights]]) -> pd.DataFrame:
    """Return what is known of every tensor that runs kept, one row per run, moment and tensor.

    Every number is read, for the digests. Columns ``variant``, ``run``, ``iteration`` and ``file`` (both missing for
    the final weights), ``tensor``, ``shape``, ``dtype`` and ``digest``.
    """
    import pandas as pd

    rows = [
        (
            variant,
            run_index(name),
            after if isinstance(after, int) else None,
            after if isinstance(after, str) else None,
            tensor,
            array.shape,
            str(array.dtype),
            hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:DIGITS],
        )
        for variant, runs in variants.items()
        for name, kept in runs.items()
        for after, layers in _moments(kept)
        for tensor, array in layers.items()
    ]
    names = ["variant", "run", "iteration", "file", "tensor", "shape", "dtype", "digest"]
    return pd.DataFrame(rows, columns=names).astype({"iteration": "Int64"})


def run_index(name: str) -> int:
    """Return the number of a run among those of its variant, of its name.

    >>> run_index("algo+impl-3")
    3
    """
    return int(name.rpartition("-")[2])


def _moments(kept: RunWeights) -> Iterator[tuple[Moment | None, dict[str, Array]]]:
    """Yield what was kept on the way, in the order of time, then the final weights."""
    yield from kept.moments.items()
    yield None, kept.layers


def weights_of(runs: Mapping[str, RunWeights], run: int, after: Moment | None = None) -> dict[str, Array]:
    """Return the weights of one of the runs of a variant, after an iteration or in a file, by default the final ones.

    Raises BadOption with what was kept, where it is not what is asked for.
    """
    by_index = {run_index(name): kept for name, kept in runs.items()}
    if run not in by_index:
        known = ", ".join(map(str, sorted(by_index)))
        raise BadOption(f"no weights of run {run} were kept", hint=f"runs with weights: {known or 'none'}")
    kept = by_index[run]
    if kept.reason:
        raise BadOption(f"the weights of run {run} cannot be read: {kept.reason}", hint="repeat the run")
    moments = dict(_moments(kept))
    if after not in moments:
        known = ", ".join(map(str, kept.moments))
        raise BadOption(
            f"run {run} kept no weights after {after}",
            hint=f"kept are the final weights and those after: {known or 'none'}",
        )
    return moments[after]


def mean_weights_of(
    runs: Mapping[str, RunWeights], chosen: Sequence[int] | None = None, after: Moment | None = None
) -> dict[str, Array]:
    """Return the mean of the weights of some runs of a variant, by default of all that kept any.

    Each array has the type of that of the first run; sums are in 64 bits.

    Raises BadOption if fewer than two runs are there, or their tensors have other names or shapes.
    """
    numbers = sorted(run_index(name) for name in runs) if chosen is None else list(dict.fromkeys(chosen))
    if len(numbers) < 2:
        raise BadOption(f"a mean of weights needs two runs; there are {len(numbers)}", hint="add runs with deviate run")
    first, *others = (weights_of(runs, number, after) for number in numbers)
    shapes = [{name: array.shape for name, array in each.items()} for each in (first, *others)]
    for number, shape in zip(numbers, shapes, strict=True):
        if shape != shapes[0]:
            raise BadOption(
                f"the weights of run {number} have other names or shapes than those of run {numbers[0]}",
                hint="choose runs of one model",
            )
    return {
        name: (sum((each[name].astype(np.float64) for each in others), array.astype(np.float64)) / len(numbers)).astype(
            array.dtype
        )
        for name, array in first.items()
    }


#: Layers that are measured one by one; of more, the first ones.
LAYERS = 500


class LayerDistance(msgspec.Struct, frozen=True, kw_only=True):
    """How far the weights of one layer lie apart."""

    name: str
    elements: int
    distance: Estimate


class MomentDistance(msgspec.Struct, frozen=True, kw_only=True):
    """How far the weights of runs lie apart after an iteration, or in a file that each of them wrote."""

    #: None for a file.
    iteration: int | None
    #: Its path; empty for an iteration.
    file: str
    #: Whether all runs have the same numbers.
    equal: bool
    distance: Estimate

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return self.file or f"iteration {self.iteration}"


class WeightFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How far the final weights of the runs of a variant lie apart, each brought to length 1."""

    variant: str
    runs: list[str]
    #: Numbers in the weights of a run.
    elements: int = 0
    #: Of all weights as one vector, in [0, 2]; None where nothing is measured.
    distance: Estimate | None = None
    layers: list[LayerDistance] = []
    #: By pair of runs.
    matrix: list[list[float]] = []
    #: Why nothing is measured; empty where something is.
    withheld: str = ""
    #: What was kept on the way by all runs, in the order of time.
    moments: list[MomentDistance] = []


def weight_facts(variant: str, weights: Mapping[str, RunWeights], level: float) -> WeightFacts:
    """Infer how far final weights lie apart, at a confidence level in (0, 1)."""
    readable = {name: run.layers for name, run in weights.items() if not run.reason}
    facts = WeightFacts(variant=variant, runs=list(readable))
    if len(readable) < 2:
        damaged = "; ".join(run.reason for run in weights.values() if run.reason)
        return msgspec.structs.replace(facts, withheld=damaged or ONE_RUN)
    intact = [run for run in weights.values() if not run.reason]
    facts = msgspec.structs.replace(facts, moments=_moment_distances(intact, level))
    first = next(iter(readable.values()))
    if withheld := _incomparable(list(readable.values())):
        return msgspec.structs.replace(facts, withheld=withheld)
    measured = weight_distances(list(readable.values()), level)
    return msgspec.structs.replace(
        facts,
        elements=sum(array.size for array in first.values()),
        distance=measured.whole.mean,
        layers=[
            LayerDistance(name=name, elements=first[name].size, distance=layer.mean)
            for name, layer in list(measured.layers.items())[:LAYERS]
            if first[name].size > 1  # one number has no direction
        ],
        matrix=measured.whole.matrix.tolist(),
    )


def _incomparable(runs: Sequence[Mapping[str, Array]]) -> str:
    """Return why the weights of runs cannot be compared; empty where they can."""
    if not runs[0]:
        return "the runs kept no final weights"
    shapes = {name: array.shape for name, array in runs[0].items()}
    if any({name: array.shape for name, array in run.items()} != shapes for run in runs):
        return "the runs have other layers, or layers of other shapes"
    if not all(np.isfinite(array).all() for run in runs for array in run.values()):
        return "some weights are infinite or no numbers"
    return ""


def _moment_distances(runs: Sequence[RunWeights], level: float) -> list[MomentDistance]:
    """Measure what all runs kept on the way."""
    found = []
    for moment in runs[0].moments:
        layers = [run.moments[moment] for run in runs if moment in run.moments]
        if len(layers) == len(runs) and not _incomparable(layers):
            found.append(_moment(moment, layers, level))
    return found


def _moment(moment: Moment, runs: Sequence[Mapping[str, Array]], level: float) -> MomentDistance:
    first, *others = runs
    return MomentDistance(
        iteration=moment if isinstance(moment, int) else None,
        file="" if isinstance(moment, int) else moment,
        equal=all(np.array_equal(array, other[name]) for other in others for name, array in first.items()),
        distance=weight_distances(runs, level).whole.mean,
    )


# The facts about representations: how alike those of different runs are.


class RepresentationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How alike the runs of a variant represent the same examples, in what enters the last linear layer."""

    variant: str
    site: Frame
    kept: Kept
    runs: list[str]
    examples: int
    #: Mean over pairs of runs of the unbiased linear CKA, in [-1, 1].
    cka: Estimate


def representation_facts(
    evaluations: Sequence[Evaluation], metrics: Sequence[Sample], level: float
) -> RepresentationFacts | None:
    """Infer how alike representations are in the evaluation that is shown first; None where too few were kept."""
    main = main_evaluation([each for each in evaluations if _has_features(each)], main_first(metrics))
    if main is None or main.predictions is None or main.predictions.features is None:
        return None
    features = main.predictions.features
    return RepresentationFacts(
        variant=main.variant,
        site=main.site,
        kept=main.kept,
        runs=list(main.predictions.runs),
        examples=len(features[0]),
        cka=mean_cka(features, level),
    )


def _has_features(evaluation: Evaluation) -> bool:
    features = evaluation.predictions.features if evaluation.predictions is not None else None
    return features is not None and len(features) > 1 and len(features[0]) >= FEWEST_EXAMPLES
