"""Facts about every evaluation pass: when runs part, what they learn, and what they forget again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from deviate.facts.predictions import Evaluation, class_name
from deviate.observe.matching import EveryPass, Withheld
from deviate.observe.predictions import Array
from deviate.stats.churn import churn
from deviate.stats.pairs import Estimate
from deviate.stats.predictions import ForgettingSpread, correctness, forgetting_spread
from deviate.stats.spread import Spread

if TYPE_CHECKING:
    import pandas as pd

#: Why nothing is said of how predictions went.
ONE_PASS = "one evaluation pass shows no course"


class PassFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The predictions of all runs in one evaluation pass; shares are in [0, 1]."""

    #: Of the main loop, in the first run; -1 before it.
    iteration: int
    #: Share of examples that two runs label differently, over all pairs.
    churn: Estimate
    #: Share of examples whose label is another than in the pass before, over the runs; None in the first.
    changed: float | None
    #: Share of correct labels, over the runs; None without targets.
    accuracy: float | None


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What runs learn and forget; see `deviate.stats.predictions.ForgettingSpread`. Passes count from 0."""

    mean_events: Spread
    unforgettable: Spread
    never_learnt: Spread
    mean_first_learnt: float | None
    first_learnt_sd: float | None
    learnt_by_all: float


class LearningFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How the predictions of runs went over the evaluation passes."""

    runs: list[str] = []
    examples: int = 0
    passes: list[PassFacts] = []
    #: Passes that not all runs made.
    left_out: int = 0
    #: Position in `passes` of the first pass in which two runs differ; None where none do.
    parting: int | None = None
    #: None without targets.
    forgetting: Forgotten | None = None
    #: Why nothing is known; empty where something is.
    withheld: str = ""


def learning_facts(every: EveryPass | Withheld, level: float) -> LearningFacts:
    """Infer how predictions went, at a confidence level in (0, 1)."""
    if isinstance(every, Withheld):
        return LearningFacts(withheld=every.reason)
    predicted = every.predictions
    labels, targets = predicted.labels, predicted.targets
    assert labels is not None
    if labels.shape[2] < 2:
        return LearningFacts(withheld=ONE_PASS)
    by_pass = np.moveaxis(labels, 2, 0)
    changed = [None, *(float(share) for share in (by_pass[1:] != by_pass[:-1]).mean(axis=(1, 2)))]
    passes = [
        PassFacts(
            iteration=iteration,
            churn=churn(each, level).mean,
            changed=share,
            accuracy=None if targets is None else float(correctness(each, targets).mean()),
        )
        for iteration, each, share in zip(every.iterations, by_pass, changed, strict=True)
    ]
    return LearningFacts(
        runs=list(predicted.runs),
        examples=len(predicted.keys),
        passes=passes,
        left_out=every.left_out,
        parting=next((place for place, each in enumerate(passes) if each.churn.value), None),
        forgetting=None if targets is None else _forgotten(forgetting_of(labels, targets)),
    )


def forgetting_tables(evaluations: Iterable[Evaluation]) -> pd.DataFrame:
    """Return what runs forget, a row per example of each evaluation whose every pass was kept."""
    import pandas as pd

    tables = [
        forgetting_table(each.variant, each.every)
        for each in evaluations
        if isinstance(each.every, EveryPass) and each.every.predictions.targets is not None
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["variant", "example", "target"])


def forgetting_table(variant: str, every: EveryPass) -> pd.DataFrame:
    """Return what runs forget as a table, one row an example; targets are known."""
    import pandas as pd

    predicted = every.predictions
    assert predicted.labels is not None
    assert predicted.targets is not None
    measured = forgetting_of(predicted.labels, predicted.targets)
    passes = predicted.labels.shape[2]
    learnt = measured.first_learnt < passes
    first = pd.DataFrame(np.where(learnt, measured.first_learnt, np.nan))
    return pd.DataFrame(
        {
            "variant": variant,
            "example": predicted.keys,
            "target": [class_name(predicted, target) for target in predicted.targets],
            "events": measured.events.mean(axis=0),
            "runs_learnt": learnt.sum(axis=0),
            "runs_unforgettable": (learnt & (measured.events == 0)).sum(axis=0),
            "first_learnt": first.mean(),
            "first_learnt_sd": first.std(ddof=1),
        }
    )


def forgetting_of(labels: Array, targets: Array) -> ForgettingSpread:
    """Measure what runs forget; `labels` have shape ``(n_runs, n_examples, n_passes)``."""
    return forgetting_spread(np.moveaxis(labels == targets[None, :, None], 2, 1))


def _forgotten(measured: ForgettingSpread) -> Forgotten:
    fields: dict[str, Any] = {name: getattr(measured, name) for name in Forgotten.__struct_fields__}
    return Forgotten(**fields)
