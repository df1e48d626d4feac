"""What differs between the predictions of runs, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.collect.matching import Match
from deviate.inference.stability import ClassStability, Labels, Stability, Values
from deviate.measure.intervals import Interval
from deviate.report.numbers import show, show_level, show_percent
from deviate.report.text.words import count

#: How examples were matched between runs.
MATCHED: dict[Match, str] = {
    "index": "by their number in the data set",
    "digest": "by their inputs",
    "position": "by their order, in which the targets are the same in all runs",
}

#: Below this p a class varies more than by chance.
ALPHA = 0.05


def brief_stability(facts: Stability) -> list[str]:
    """Say in a few sentences how much predictions differ, or why that is not known."""
    if facts.withheld:
        return [f"Predictions are not compared: {facts.withheld}."]
    if facts.labels is not None:
        return [*_churn(facts.labels, facts.examples), _stable(facts.labels)]
    return _values(facts.values) if facts.values is not None else []


def stability_sentences(facts: Stability) -> list[str]:
    """Say all that is known of the predictions in one evaluation."""
    if facts.labels is None:
        return brief_stability(facts)
    return [*brief_stability(facts), *_classes(facts.labels), *_variance(facts.labels), *_ensembles(facts.labels)]


def _churn(labels: Labels, examples: int) -> Iterator[str]:
    forced = labels.excess.forced.value
    yield (
        f"Two runs give {show_percent(labels.churn.value)} of the {examples} examples different labels"
        f"{_interval(labels.churn.interval)}; the difference between their accuracies forces only "
        f"{show_percent(forced)}."
    )


def _stable(labels: Labels) -> str:
    return (
        f"All runs are right on {show_percent(labels.stably_right)} of the examples and give the same wrong label on "
        f"{show_percent(labels.stably_wrong)}; the other {show_percent(labels.unstable)} depend on the run."
    )


def _classes(labels: Labels) -> Iterator[str]:
    known = [each for each in labels.classes if each.sd is not None]
    if len(known) < 2 or len(known) != len(labels.classes):
        return
    widest = max(known, key=lambda each: each.sd or 0.0)
    if widest.sd:
        ratio = f", {show(widest.ratio, digits=2)} times that of all examples" if widest.ratio is not None else ""
        yield (
            f"Class {widest.name} varies most: the SD of its accuracy is {points(widest.sd)}{ratio}{_chance(widest)}."
        )


def _chance(widest: ClassStability) -> str:
    if widest.floor is None or widest.p is None:
        return ""
    if widest.p < ALPHA:
        return f", above the {points(widest.floor)} of chance on {count(widest.examples, 'example')}"
    return f"; chance alone may give {points(widest.floor)} with {count(widest.examples, 'example')}"


def _variance(labels: Labels) -> Iterator[str]:
    parts = labels.variance
    sd = labels.accuracy.sd
    if not sd or parts.distribution is None:
        return
    if parts.distribution_sd is not None:
        yield (
            f"On a test set without end the SD of the accuracy would be {points(parts.distribution_sd)} instead of "
            f"{points(sd)}: the rest is single examples that flip."
        )
    else:
        most = parts.distribution_sd_at_most
        limit = f"; it is at most {points(most)}" if most is not None else ""
        yield (
            f"The SD of the accuracy is {points(sd)}. Whether it would differ from 0 on a test set without end cannot "
            f"be said{limit}."
        )


def _ensembles(labels: Labels) -> Iterator[str]:
    best = max(labels.ensembles, key=lambda each: each.size, default=None)
    if best is not None:
        kind = "mean of the scores" if labels.calibration else "majority vote"
        yield (
            f"The {kind} of {count(best.size, 'run')} has an accuracy of {100 * best.accuracy:.2f}%, "
            f"{_signed_points(best.gain)} than one run."
        )


def _signed_points(gain: float) -> str:
    return f"{points(abs(gain))} {'more' if gain >= 0 else 'less'}"


def _values(values: Values) -> list[str]:
    return [
        f"The predictions of two runs for an example are {show(values.difference.value, digits=3)} apart on average"
        f"{_plain_interval(values.difference.interval)}; the error of a run (RMSE) is "
        f"{show(values.error.mean, digits=3)}."
    ]


def provenance(facts: Stability) -> list[str]:
    """Say where predictions were captured, how examples were matched, and what proves them."""
    sentences = [f"Captured in {facts.site.function} at {facts.site.file}:{facts.site.line}, {_kept(facts)}."]
    if facts.by is not None:
        left = f"; {facts.left_out} that not all runs evaluated are left out" if facts.left_out else ""
        sentences.append(f"Examples are matched {MATCHED[facts.by]}{left}.")
    what = "shares of correct labels" if facts.values is None else "errors"
    if facts.metric is not None:
        sentences.append(f"The {what} are the values of {facts.metric} in every run.")
    elif not facts.withheld:
        sentences.append(f"No metric has the {what} as its values, so check that this is the evaluation you mean.")
    return sentences


def _kept(facts: Stability) -> str:
    return "the last evaluation of each run" if facts.kept == "last" else "the best evaluation of each run"


def points(share: float) -> str:
    """Write a difference of shares in percentage points.

    Examples
    --------
    >>> points(0.0123), points(0.0004)
    ('1.2 points', '0.04 points')
    """
    return f"{show(100 * share, digits=2)} points"


def _interval(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f" ({show_level(interval.level)} CI {show_percent(interval.low)}–{show_percent(interval.high)})"


def _plain_interval(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f" ({show_level(interval.level)} CI {show(interval.low, digits=3)}–{show(interval.high, digits=3)})"
