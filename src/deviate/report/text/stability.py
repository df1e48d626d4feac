"""What differs between the predictions of runs, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from deviate.collect.matching import Match
from deviate.inference.groups import GroupFacts, GroupRate, GroupStability
from deviate.inference.representations import RepresentationFacts
from deviate.inference.stability import ClassStability, Correctness, Labels, Stability, Values
from deviate.inference.weights import WeightFacts
from deviate.measure.intervals import Interval
from deviate.report.numbers import points, show_level, show_percent, significant
from deviate.report.text.learning import learning_sentences
from deviate.report.text.words import count

#: How examples were matched between runs.
MATCHED: dict[Match, str] = {
    "index": "by their number in the data set",
    "digest": "by their inputs",
    "position": "by their order, in which the targets are the same in all runs",
}

#: Below this p a class varies more than independent errors make it.
ALPHA = 0.05

#: Rates of errors, by name.
ERRORS = {"fpr": "false positive rate", "fnr": "false negative rate"}

#: What to say where nothing was captured; notes of the runtime say more where it knows why.
NOTHING_CAPTURED = (
    "No predictions were captured: no evaluation of a model was recognised by a call, a comparison or a metric. "
    "`--predictions FILE` takes them from a file that each run writes."
)

#: What to say where scores were asked for, and the representations that come with them were not kept.
NO_REPRESENTATIONS = (
    "Representations are not compared: no two runs kept what enters the last linear layer for the same examples. It is "
    "captured in calls of models of PyTorch and Keras, and of Flax in compiled functions that compare predictions with "
    "targets; what else JAX, `tf.function` or `torch.compile` compile keeps it to itself."
)

#: What to say where scores were asked for, and the inputs that come with them were not kept.
NO_INPUTS = (
    "Inputs are not shown: runs keep pictures and texts, and of other inputs, such as rows of numbers and tokens, "
    "nothing. `deviate report NAME --inputs FILE` shows those that you have."
)

#: What to say where the inputs of some examples on the list were kept.
SOME_INPUTS = (
    "Each run keeps the inputs of its least certain examples; the others are not shown. "
    "`deviate report NAME --inputs FILE` shows those that you have."
)


def brief_stability(facts: Stability) -> list[str]:
    """Say in a few sentences how much predictions differ, or why that is not known."""
    if facts.withheld:
        return [f"Predictions are not compared: {facts.withheld}."]
    if facts.labels is not None:
        return [_churn(facts.labels, facts.examples), _stable(facts.labels), *_groups(facts.groups)]
    return _values(facts.values) if facts.values is not None else []


def screen_stability(facts: Stability) -> list[str]:
    """Say in one sentence how much predictions differ, or why that is not known."""
    if facts.withheld or facts.labels is None:
        return brief_stability(facts)[:1]
    return [f"{_labelled(facts.labels, facts.examples)}."]


def stability_sentences(facts: Stability) -> list[str]:
    """Say all that is known of the predictions in one evaluation."""
    known = facts.labels.correctness if facts.labels is not None else None
    course = [] if facts.learning is None else learning_sentences(facts.learning)
    if known is None:
        return [*brief_stability(facts), *course]
    return [
        *brief_stability(facts),
        *_classes(known),
        *_variance(known),
        *_ensembles(known),
        *course,
    ]


def _churn(labels: Labels, examples: int) -> str:
    forced = labels.correctness.excess.forced.value if labels.correctness is not None else None
    beyond = ""
    if forced is not None and labels.churn.value:
        explained = show_percent(forced) if forced else "none of it"
        beyond = f"; the difference between their accuracies explains {explained}"
    return f"{_labelled(labels, examples)}{beyond}."


def _labelled(labels: Labels, examples: int) -> str:
    if labels.churn.value == 0:
        return f"All runs label each of the {examples} examples alike"
    share, interval = show_percent(labels.churn.value), show_interval(labels.churn.interval)
    return f"Two runs label {share} of the {examples} examples differently{interval}"


def _stable(labels: Labels) -> str:
    known = labels.correctness
    if known is None:
        return f"All runs agree on {show_percent(1 - labels.unstable)} of the examples."
    depend = f"; the other {show_percent(labels.unstable)} depend on the run" if labels.unstable else ""
    return (
        f"All runs are right on {show_percent(known.stably_right)} of the examples and give the same wrong label on "
        f"{show_percent(known.stably_wrong)}{depend}."
    )


def _classes(known: Correctness) -> Iterator[str]:
    spreads = [each for each in known.classes if each.sd is not None]
    if len(spreads) < 2 or len(spreads) != len(known.classes):
        return
    widest = max(spreads, key=lambda each: each.sd or 0.0)
    if widest.sd and _is_largest(widest.sd, [each.sd or 0.0 for each in spreads]):
        yield f"Class {widest.name} varies most: the SD of its accuracy is {_wide(widest, widest.examples)}."


def _groups(facts: GroupFacts | None) -> Iterator[str]:
    """Say which group varies most in its accuracy, and which in one of its errors."""
    if facts is None:
        return
    for rate in ("accuracy", max(ERRORS, key=lambda name: _widest(facts, name)[1])):
        group, sd = _widest(facts, rate)
        sds = [group.rates[rate].sd or 0.0 for group in facts.groups if rate in group.rates]
        if group is None or not sd or not _is_largest(sd, sds):
            continue
        if rate == "accuracy":
            wide = _wide(group.rates[rate], group.examples)
            yield f"Group {group.label} varies most: the SD of its accuracy is {wide}."
        else:
            wide = f"{points(sd)}{_times(group.rates[rate])}"
            yield f"The {ERRORS[rate]} varies most in group {group.label}: its SD is {wide}."


def _is_largest(sd: float, sds: Sequence[float]) -> bool:
    """Tell whether one SD alone is the largest in the digits that are shown."""
    return sum(points(each) == points(sd) for each in sds) == 1


def _widest(facts: GroupFacts, rate: str) -> tuple[GroupStability | None, float]:
    """Return the group in which a rate varies most, and its SD."""
    known = [(group, group.rates[rate].sd or 0.0) for group in facts.groups if rate in group.rates]
    return max(known, key=lambda pair: pair[1], default=(None, 0.0))


def _wide(widest: ClassStability | GroupRate, examples: int) -> str:
    assert widest.sd is not None
    return f"{points(widest.sd)}{_times(widest)}{_chance(widest.p, examples)}"


def _times(widest: ClassStability | GroupRate) -> str:
    return f", {significant(widest.ratio, 2)} times that of all examples" if widest.ratio is not None else ""


def _chance(p: float | None, examples: int) -> str:
    if p is None:
        return ""
    of = count(examples, "example")
    if p < ALPHA:
        return f", more than independent errors on its {of} make"
    return f"; independent errors on its {of} may make as much"


def _variance(known: Correctness) -> Iterator[str]:
    parts, sd = known.variance, known.accuracy.sd
    if not sd or parts.distribution is None:
        return
    if parts.distribution_sd is not None and points(parts.distribution_sd) == points(sd):
        yield f"The SD of the accuracy is {points(sd)}, and would be about as large on an infinite test set."
    elif parts.distribution_sd is not None:
        yield (
            f"On an infinite test set the SD of the accuracy would be {points(parts.distribution_sd)} instead of "
            f"{points(sd)}: the rest is single examples that flip."
        )
    else:
        most = parts.distribution_sd_at_most
        limit = f"; it is at most {points(most)}" if most is not None else ""
        yield (
            f"The SD of the accuracy is {points(sd)}. Whether it would differ from 0 on an infinite test set cannot be "
            f"said{limit}."
        )


def _ensembles(known: Correctness) -> Iterator[str]:
    best = max(known.ensembles, key=lambda each: each.size, default=None)
    if best is not None:
        kind = "mean of the scores" if known.calibration else "majority vote"
        yield (
            f"The {kind} of {count(best.size, 'run')} has an accuracy of {100 * best.accuracy:.2f}%, "
            f"{_signed_points(best.gain)} than one run."
        )


def _signed_points(gain: float) -> str:
    return f"{points(abs(gain))} {'more' if gain >= 0 else 'less'}"


def _values(values: Values) -> list[str]:
    apart = (
        f"The predictions of two runs for an example are {significant(values.difference.value, 3)} apart on average"
        f"{show_interval(values.difference.interval, _three_digits)}"
    )
    error = f"; the error of a run (RMSE) is {significant(values.error.mean, 3)}" if values.error is not None else ""
    return [f"{apart}{error}."]


def representation_sentences(facts: RepresentationFacts, *, scale: bool = True) -> list[str]:
    """Say how alike runs represent the same examples, and on what `scale`, unless that was said before."""
    if facts.cka.value is None:
        return [f"Representations are not compared: {facts.cka.reason}."]
    return [
        f"What enters the last linear layer is alike in two runs by {significant(facts.cka.value, 3)}"
        f"{show_interval(facts.cka.interval, _three_digits)}, the linear CKA over {count(facts.examples, 'example')}"
        f"{'; 1 is equal up to rotation and scale, 0 unrelated' if scale else ''}."
    ]


def weight_sentences(facts: WeightFacts, *, scale: bool = True) -> list[str]:
    """Say how far the final weights of runs lie apart, on what `scale`, and from where on those kept before differ."""
    if facts.distance is None:
        return [f"Final weights are not compared: {facts.withheld}.", *_parting(facts)]
    return [
        f"The final weights of two runs, each brought to length 1, are {significant(facts.distance.value, 3)} apart"
        f"{show_interval(facts.distance.interval, _three_digits)}"
        f"{'; 0: equal, 1.41: unrelated directions' if scale else ''}.",
        *_parting(facts),
    ]


def _parting(facts: WeightFacts) -> list[str]:
    first = next((place for place, each in enumerate(facts.moments) if not each.equal), None)
    if not facts.moments:
        return []
    if first is None:
        return ["All weights that were kept on the way are equal in all runs."]
    since = facts.moments[first].name
    if first == 0:
        return [f"Weights differ from the first that were kept, {since}."]
    return [f"Weights are equal in all runs up to {facts.moments[first - 1].name} and differ from {since} on."]


def provenance(facts: Stability) -> list[str]:
    """Say where predictions were captured, how examples were matched, and what proves them."""
    place = f"Captured in {facts.site.function} at {facts.site.file}:{facts.site.line}, {_kept(facts)}."
    sentences = [place if facts.site.line else f"Read from {facts.site.file}, which each run wrote."]
    if facts.by is not None:
        left = f"; {facts.left_out} that not all runs evaluated are left out" if facts.left_out else ""
        how = "by their ids" if facts.by == "digest" and not facts.site.line else MATCHED[facts.by]
        sentences.append(f"Examples are matched {how}{left}.")
    what = "shares of correct labels" if facts.values is None else "errors"
    if facts.metric is not None:
        sentences.append(f"The {what} are the values of {facts.metric} in every run.")
    elif facts.disputed:
        sentences.append(
            f"Which labels are correct is not shown: they do not give the values of {facts.disputed} that the program "
            "reports there."
        )
    elif not facts.withheld and facts.goodness:
        sentences.append(f"No metric has the {what} as its values, so check that this is the evaluation you mean.")
    return sentences


def _kept(facts: Stability) -> str:
    return "the last evaluation of each run" if facts.kept == "last" else "the best evaluation of each run"


def show_interval(interval: Interval, shown: Callable[[float], str] = show_percent) -> str:
    """Return an interval in brackets, after a space; nothing where one of its ends is not known."""
    if interval.low is None or interval.high is None:
        return ""
    return f" ({show_level(interval.level)} CI {shown(interval.low)}–{shown(interval.high)})"


def _three_digits(value: float) -> str:
    return significant(value, 3)
