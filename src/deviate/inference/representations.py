"""The facts about representations: how alike those of different runs are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.collect.predictions import Frame
from deviate.measure.jackknife import Estimate
from deviate.measure.representations import FEWEST_EXAMPLES, mean_cka
from deviate.results.order import main_first
from deviate.results.predictions import Evaluation, Kept, main_evaluation
from deviate.results.sample import Sample


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
