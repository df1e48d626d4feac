"""What the completed runs of a variant predicted for the same examples, evaluation by evaluation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import Status, Step
from deviate.facts.run import ending
from deviate.facts.samples import Sample
from deviate.lexicon.words import find_name, split_of, words_of
from deviate.observe.events import RuntimeNote
from deviate.observe.examples import Groups, Inputs, Shown, match_rows, read_inputs
from deviate.observe.headline import main_first
from deviate.observe.matching import EveryPass, Predictions, Withheld, match_every, match_passes
from deviate.observe.metrics import SampleRow
from deviate.observe.observation import Evaluated
from deviate.observe.predictions import (
    Array,
    EvaluationPass,
    Frame,
    RunPredictions,
    UnreadableError,
    is_no_label,
    never_predicted,
    read_predictions,
    without_target,
)
from deviate.observe.records import RunFiles
from deviate.observe.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

# Where the accuracy that follows from captured labels is not the one that the program reports, which is right.

#: Run, iteration, metric and value of what was recorded.
Recorded = Sequence[tuple[int, int, str, float]]

_ACCURACY = {"acc", "accuracy"}

#: Accuracies of another kind than the share of correct labels in one pass.
_OTHERS = {
    *("top", "topk", "top2", "top3", "top5", "top10", "balanced", "mean", "class", "per", "micro", "macro", "weighted"),
    *("best", "avg", "average", "ema", "running", "smoothed", "max", "seq", "sequence", "exact"),
}


def recorded_at(values: Recorded) -> dict[str, dict[tuple[int, int], list[float]]]:
    """Return the values of each metric by run and iteration."""
    recorded: dict[str, dict[tuple[int, int], list[float]]] = {}
    for run, iteration, metric, value in values:
        recorded.setdefault(metric, {}).setdefault((run, iteration), []).append(value)
    return recorded


def disputed_accuracy(
    places: Sequence[tuple[int, int]], shares: Sequence[float | None], values: Recorded, proven: Collection[str | None]
) -> str:
    """Return an accuracy that the program reports of passes and that has other values than their labels give.

    Empty where none is, or one agrees to the digits that it has.

    Parameters
    ----------
    places : sequence of (int, int)
        Run and iteration of each pass.
    shares : sequence of float or None
        Share of correct labels in each.
    values : Recorded
        What was recorded there.
    proven : collection of str
        Metrics that have the values of other passes.
    """
    known = {name: at for name, at in recorded_at(values).items() if name not in proven and _is_accuracy(name)}
    at_all = {name: at for name, at in known.items() if all(place in at for place in places)}
    pairs = list(zip(places, shares, strict=True))
    for at in at_all.values():
        if all(share is not None and any(rounds_to(share, value) for value in at[place]) for place, share in pairs):
            return ""
    # Beside one of a part of the data, one of none is of the training as a rule.
    return next(iter(sorted(at_all, key=lambda name: not split_of(name))), "")


def _is_accuracy(name: str) -> bool:
    words = set(words_of(name))
    return not words.isdisjoint(_ACCURACY) and words.isdisjoint(_OTHERS) and split_of(name) != "train"


def rounds_to(share: float, value: float) -> bool:
    """Tell whether a share, or its percentage, is a value to as many digits as that has.

    >>> rounds_to(0.9144, 0.91), rounds_to(0.9144, 91.4), rounds_to(0.9144, 0.93)
    (True, True, False)
    """
    exponent = Decimal(repr(value)).as_tuple().exponent
    unit = 10.0**exponent if isinstance(exponent, int) else 0.0
    return any(abs(form - value) <= 0.51 * unit + 1e-4 * max(1.0, abs(form)) for form in (share, 100 * share))


def without_targets(predicted: Predictions) -> Predictions:
    """Return predictions without what tells which of them are correct."""
    return dataclasses.replace(predicted, targets=None)


def every_without_targets(every: EveryPass | Withheld | None) -> EveryPass | Withheld | None:
    """Return every pass without them."""
    if not isinstance(every, EveryPass):
        return every
    return dataclasses.replace(every, predictions=without_targets(every.predictions))


Kept = Literal["last", "best"]

#: A metric is the share of correct predictions of a pass, a percentage of it, or the share of wrong ones, to this.
ROUNDING = 1e-4


class KnownInputs(NamedTuple):
    """The inputs of the examples of an evaluation."""

    inputs: Inputs
    #: The row of each example, shape (n_examples,).
    rows: Array

    def show(self, place: int) -> Shown:
        """Return what is shown of the example at a place."""
        return self.inputs.show(int(self.rows[place]))


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One point at which the runs of a variant are evaluated, each run's last pass there or each run's best."""

    variant: str
    site: Frame
    kept: Kept
    #: What tells data sets apart that the same lines evaluate; empty where nothing does.
    data: str
    #: The metric whose values are the shares of correct predictions, or the errors, of these passes in every run, and
    #: which therefore proves them; None where there is none.
    metric: str | None
    #: Iteration of each run's pass; -1 before the main loop.
    iterations: list[int]
    #: By run: share of correct labels, or the mean squared error, negative; None without targets.
    goodness: list[float | None]
    #: None where the examples of the runs could not be matched.
    predictions: Predictions | None
    #: Why they could not; empty where they could.
    withheld: str = ""
    #: Groups of the examples, where the user gave some, and the label that counts as positive in their rates.
    groups: list[Groups] = []
    positive: int | None = None
    #: Inputs of the examples, where the user gave them.
    inputs: KnownInputs | None = None
    #: Every pass at the point, where they were kept.
    every: EveryPass | Withheld | None = None
    #: The accuracy of the program's that has other values than follow from the targets, which are left out then.
    disputed: str = ""


def runs_with_predictions(runs: Iterable[RunFiles]) -> list[RunPredictions]:
    """Return what the models of the completed runs predicted."""
    return [read_predictions(run) for run in runs if run.completed and run.folder.prediction_files()]


def evaluations_by_variant(runs: Iterable[RunPredictions], tables: Tables) -> dict[str, list[Evaluation]]:
    """Return the evaluations of each variant: those that a metric proves first, then larger ones."""
    by_variant: dict[str, list[RunPredictions]] = {}
    for run in runs:
        by_variant.setdefault(run.variant, []).append(run)
    return {variant: _evaluations(variant, read, tables) for variant, read in by_variant.items()}


def damage_notes(runs: Iterable[RunPredictions]) -> list[RuntimeNote]:
    """Say which files of predictions could not be read, so that their runs are missing among those compared."""
    return [
        RuntimeNote(slug="predictions-damaged", message=f"Predictions that are left out: {reason}.", runs=[run.run])
        for run in runs
        for reason in run.damaged
    ]


def _evaluations(variant: str, runs: Sequence[RunPredictions], tables: Tables) -> list[Evaluation]:
    points = dict.fromkeys(point for run in runs for point, _ in run.passes)
    series = [(point, kept, _series(runs, point, kept)) for point in points for kept in _kinds(runs, point)]
    places = {place for _, _, passes in series for place in _places(passes)}
    values = tables.values_at(variant, sorted(places))
    masks = {point: _mask(passes, values) for point, kept, passes in series if kept == "last"}
    every = {point: _every(runs, point, masks[point]) for point in points}
    found = [
        msgspec.structs.replace(_evaluation(variant, kept, _unmasked(passes, masks[point]), values), every=every[point])
        for point, kept, passes in series
    ]
    proven = {each.metric for each in found}
    # Of a file that the program writes, the targets are its own.
    found = [
        each if any(one.is_file for one in passes.values()) else _settled(each, _places(passes), values, proven)
        for each, (_, _, passes) in zip(found, series, strict=True)
    ]
    # Of equal ones that comes first which the program reported last.
    found.reverse()
    return sorted(found, key=lambda each: (each.metric is None, each.kept != "last", -_size(each)))


def _settled(
    evaluation: Evaluation, places: Sequence[tuple[int, int]], values: Recorded, proven: Collection[str | None]
) -> Evaluation:
    """Leave targets out where the program itself reports another accuracy than follows from them."""
    predicted = evaluation.predictions
    if evaluation.metric is not None or predicted is None or predicted.labels is None or predicted.targets is None:
        return evaluation
    disputed = disputed_accuracy(places, evaluation.goodness, values, proven)
    if not disputed:
        return evaluation
    return msgspec.structs.replace(
        evaluation,
        disputed=disputed,
        goodness=[None] * len(evaluation.goodness),
        predictions=without_targets(predicted),
        every=every_without_targets(evaluation.every),
    )


def _kinds(runs: Sequence[RunPredictions], point: str) -> list[Kept]:
    """Return ``best`` as well where the best pass of a run was not its last."""
    return ["last", "best"] if any((point, "best") in run.passes for run in runs) else ["last"]


def _series(runs: Sequence[RunPredictions], point: str, kept: Kept) -> dict[str, EvaluationPass]:
    passes = {run.run: run.passes.get((point, kept), run.passes.get((point, "last"))) for run in runs}
    return {name: each for name, each in passes.items() if each is not None}


def _mask(passes: dict[str, EvaluationPass], values: Recorded) -> int | None:
    """Return the target that masks examples: without them the runs' own metric follows, or it is no class at all."""
    places, every = _places(passes), list(passes.values())
    if proving_metric(places, [each.header.goodness for each in every], values) is not None:
        return None
    unpredicted = never_predicted(every)
    for value in unpredicted:
        cut = [without_target(each, value).header.goodness for each in every]
        if proving_metric(places, cut, values) is not None:
            return value
    return next((value for value in unpredicted if is_no_label(value, every)), None)


def _unmasked(passes: dict[str, EvaluationPass], mask: int | None) -> dict[str, EvaluationPass]:
    return passes if mask is None else {run: without_target(each, mask) for run, each in passes.items()}


def _every(runs: Sequence[RunPredictions], point: str, mask: int | None) -> EveryPass | Withheld | None:
    found = {run.run: run.passes[point, "every"] for run in runs if (point, "every") in run.passes}
    passes = _unmasked(found, mask)
    return match_every(list(passes), list(passes.values())) if passes else None


def _places(passes: dict[str, EvaluationPass]) -> list[tuple[int, int]]:
    return [(int(name.rpartition("-")[2]), each.header.iteration) for name, each in passes.items()]


def _evaluation(variant: str, kept: Kept, passes: dict[str, EvaluationPass], values: Recorded) -> Evaluation:
    first = next(iter(passes.values())).header
    matched = match_passes(list(passes), list(passes.values()))
    return Evaluation(
        variant=variant,
        site=first.site,
        kept=kept,
        data=first.data,
        metric=proving_metric(_places(passes), [each.header.goodness for each in passes.values()], values),
        iterations=[each.header.iteration for each in passes.values()],
        goodness=[each.header.goodness for each in passes.values()],
        predictions=None if isinstance(matched, Withheld) else matched,
        withheld=matched.reason if isinstance(matched, Withheld) else "",
    )


def _size(evaluation: Evaluation) -> int:
    return 0 if evaluation.predictions is None else len(evaluation.predictions.keys)


def proving_metric(places: Sequence[tuple[int, int]], goodness: Sequence[float | None], values: Recorded) -> str | None:
    """Return the metric that has, in each run and iteration, the value that follows from the predictions.

    `places`: run and iteration of each pass; `values`: run, iteration, metric and value of what was recorded there.
    """
    for metric, by_place in recorded_at(values).items():
        if all(
            good is not None and any(follows(value, good) for value in by_place.get(place, ()))
            for place, good in zip(places, goodness, strict=True)
        ):
            return metric
    return None


def follows(value: float, goodness: float) -> bool:
    """Tell whether a recorded value is what predictions of this goodness give, in one of the usual forms.

    >>> follows(0.91, 0.91), follows(91.0, 0.91), follows(0.09, 0.91), follows(0.5, -0.25)
    (True, True, True, True)
    >>> follows(0.4, 0.91)
    False
    """
    if goodness < 0:
        return any(math.isclose(value, form, rel_tol=ROUNDING) for form in (-goodness, math.sqrt(-goodness)))
    forms = (goodness, 100 * goodness, 1 - goodness, 100 * (1 - goodness))
    return any(abs(value - form) <= ROUNDING * max(1.0, abs(form)) for form in forms)


def main_evaluation(evaluations: Sequence[Evaluation], metrics: Sequence[Sample]) -> Evaluation | None:
    """Return the evaluation that a reader asks for first; None where there is none.

    It is that of the first metric that proves one, the last or the best pass as the metric's aggregate picks it; else
    the first whose examples are matched; else the first.

    `metrics` are in the order in which a reader asks for them.
    """
    for metric in metrics:
        proven = [each for each in evaluations if each.metric == metric.name]
        wanted = [each for each in proven if (each.kept == "best") == (metric.aggregate == "best")]
        if proven:
            return (wanted or proven)[0]
    matched = [each for each in evaluations if each.predictions is not None]
    return next(iter([*matched, *evaluations]), None)


def main_evaluations(
    evaluations: Mapping[str, Sequence[Evaluation]], samples: Mapping[str, Sequence[Sample]], metric: str | None = None
) -> list[Evaluation]:
    """Return of each variant the evaluation that a reader asks for first, of a metric where one is named.

    Raises BadOption with the metrics there are, if one is named that is not.
    """
    known = dict.fromkeys(sample.name for several in samples.values() for sample in several)
    chosen = None if metric is None else find_name(metric, list(known))
    mains = [
        main_evaluation(
            [each for each in several if chosen in (None, each.metric)], main_first(samples.get(variant, []))
        )
        for variant, several in evaluations.items()
    ]
    return [each for each in mains if each is not None]


def class_name(predicted: Predictions, label: int) -> str:
    """Return what the program calls a class: its name, or its number."""
    return predicted.classes[int(label)] if predicted.classes else str(int(label))


def prediction_table(evaluations: Iterable[Evaluation], *, scores: bool = False) -> pd.DataFrame:
    """Return the predictions of evaluations as a table, one row per run and example; unmatched ones have no rows.

    Columns ``variant``, ``run``, ``example``, ``target``, ``prediction`` and ``score``; with `scores` one more for each
    class, where they were kept.
    """
    # Only frames of the user are made here: no report waits for pandas.
    import pandas as pd

    parts = [
        pd.DataFrame(_columns(each, each.predictions, position, scores))
        for each in evaluations
        if each.predictions is not None
        for position in range(len(each.predictions.runs))
    ]
    columns = ["variant", "run", "example", "target", "prediction", "score"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _columns(evaluation: Evaluation, predicted: Predictions, position: int, wanted: bool) -> dict[str, object]:
    def named(codes: Array) -> Array:
        return np.array(predicted.classes)[codes] if predicted.classes else codes

    labels, values, top = predicted.labels, predicted.values, predicted.top
    chosen = named(labels[position]) if labels is not None else values[position] if values is not None else None
    target = predicted.targets
    scores = () if not wanted or predicted.scores is None else predicted.scores[position].T
    return {
        "variant": evaluation.variant,
        "run": int(predicted.runs[position].rpartition("-")[2]),
        "example": predicted.keys,
        "target": None if target is None else named(target) if labels is not None else target,
        "prediction": chosen,
        "score": None if top is None else top[position],
        **{f"score of {class_name(predicted, label)}": each for label, each in enumerate(scores)},
    }


# How evaluations of runs ended, and the values of those that were repeated.


class FailedPass(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation of a run that did not complete, or whose files were damaged since."""

    #: The word a user types for the run.
    run: str
    repeat: int
    status: Status
    reason: str
    #: Whether it completed, and its files were damaged since.
    damaged: bool = False


class EvaluationResult(msgspec.Struct, frozen=True, kw_only=True):
    """How often an evaluation completed over all completed runs, and its values."""

    step: Step
    #: Runs whose training completed, and those of them that were evaluated as often as asked.
    runs: int
    evaluated: int
    failed: list[FailedPass] = []
    #: By variant, metric and run, the values of its passes; empty where each run is evaluated once.
    passes: dict[str, dict[str, dict[int, list[float]]]] = {}


def evaluation_results(evaluated: Sequence[Evaluated], repeats: Sequence[SampleRow]) -> list[EvaluationResult]:
    """Return how evaluations of completed runs ended; `repeats` are those of `Tables.repeats`."""
    return [_result(each.step, each.every, repeats) for each in evaluated]


def _result(step: Step, every: Sequence[Sequence[RunFiles]], repeats: Sequence[SampleRow]) -> EvaluationResult:
    ended = [
        [(repeat, run, ending(run)) for repeat, run in enumerate(of_run) if run.outcome is not None]
        for of_run in zip(*every, strict=True)
    ]
    failed = [
        FailedPass(run=run.name, repeat=repeat, status=end.status, reason=end.reason, damaged=bool(run.damage))
        for of_run in ended
        for repeat, run, end in of_run
        if end.status not in ("completed", "cancelled")
    ]
    evaluated = sum(sum(end.status == "completed" for _, _, end in of_run) == step.repeat for of_run in ended)
    passes: dict[str, dict[str, dict[int, list[float]]]] = {}
    for row in repeats if step.repeat > 1 else ():
        if row.metric.startswith(step.prefix):
            of_metric = passes.setdefault(row.variant, {}).setdefault(row.metric, {})
            of_metric.setdefault(row.run, []).append(row.value)
    return EvaluationResult(step=step, runs=len(ended), evaluated=evaluated, failed=failed, passes=passes)


# The inputs that a user gives for the examples of an evaluation.


def with_inputs(
    evaluations: Mapping[str, Sequence[Evaluation]], samples: Mapping[str, Sequence[Sample]], source: str
) -> dict[str, list[Evaluation]]:
    """Return the evaluations, of each variant the first that the inputs fit with them; the main one is tried first.

    Raises BadOption if the source cannot be read, or fits no evaluation.
    """
    try:
        inputs = read_inputs(Path(source))
    except (UnreadableError, OSError) as error:
        raise BadOption(
            f"inputs {source}: {error}",
            hint="give an .npy, a table (csv, tsv, jsonl, parquet, npz) or a folder of pictures, one for each example",
        ) from error
    found, reasons = {}, []
    for variant, each in evaluations.items():
        main = main_evaluation(each, main_first(samples.get(variant, [])))
        found[variant] = list(each)
        for tried in sorted(each, key=lambda other: other is not main):
            if tried.predictions is None:
                continue
            matched = match_rows(inputs.name, inputs.rows, inputs.ids, tried.predictions)
            if isinstance(matched, Withheld):
                reasons.append(matched.reason)
                continue
            known = msgspec.structs.replace(tried, inputs=KnownInputs(inputs, matched[1]))
            found[variant] = [known if other is tried else other for other in each]
            break
    if not any(each.inputs for several in found.values() for each in several):
        raise BadOption(
            f"inputs {source}: {reasons[0] if reasons else 'there are no predictions whose examples it could be of'}",
            hint="give one for each evaluated example; in a table a column `index` has its number in the data set",
        )
    return found
