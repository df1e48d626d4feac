"""What differs between the predictions of runs, by group and evaluation, in sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.groups import GroupFacts, GroupRate, GroupStability
from deviate.facts.learning import Forgotten, LearningFacts
from deviate.facts.stability import ClassStability, Correctness, EvaluationFacts, Labels, Stability, Values
from deviate.facts.weights import RepresentationFacts, WeightFacts
from deviate.observe.matching import Match
from deviate.report.numbers import Numbers, points, show, show_level, show_percent, show_share, show_shares, significant
from deviate.report.page import Cell, Row, Section, Table
from deviate.report.topics.caveat import Caveat
from deviate.report.topics.curves import Charts
from deviate.report.topics.metrics import columns, number, plain_cell, points_cell, share_cell, telling
from deviate.report.words import code, command_text, count, ended_as, listed
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate

# How predictions went over the evaluation passes, in sentences.


def learning_sentences(facts: LearningFacts) -> list[str]:
    """Say where runs part, and what they forget."""
    if facts.withheld:
        return [f"The course of the predictions over the evaluations is unknown: {facts.withheld}."]
    return [_first_parting(facts), *(_forgetting(facts.forgetting) if facts.forgetting is not None else [])]


def _first_parting(facts: LearningFacts) -> str:
    passes = facts.passes
    if facts.parting is None:
        return f"In all {count(len(passes), 'evaluation')} the runs give every example the same label."
    first, last = (show_percent(passes[place].churn.value) for place in (facts.parting, -1))
    where = f"Runs first differ in evaluation {facts.parting + 1} of {len(passes)}"
    return f"{where}, two of them on {first} of the examples; in the last one it is {last}."


def _forgetting(known: Forgotten) -> Iterator[str]:
    spread = f" (SD between runs {points(known.unforgettable.sd)})" if known.unforgettable.sd is not None else ""
    often, share = significant(known.mean_events.mean, 2), show_percent(known.unforgettable.mean)
    yield f"An example is forgotten {often} times on average; {share} are learnt and never forgotten{spread}."
    if known.first_learnt_sd is not None:
        sd = significant(known.first_learnt_sd, 2)
        yield f"When an example is first right differs between runs by an SD of {sd} evaluations."


#: How examples were matched between runs.
MATCHED: dict[Match, str] = {
    "index": "by their number in the data set",
    "digest": "by their inputs",
    "position": "by their order, in which the targets are the same in all runs",
}

#: Below this p a class varies more than independent errors make it.
ALPHA = 0.05

ERRORS = {"fpr": "false positive rate", "fnr": "false negative rate"}

#: What to say where nothing was captured; notes of the runtime say more where it knows why.
NOTHING_CAPTURED = "No predictions were captured. `--predictions FILE` takes them from a file that each run writes."

#: What to say where scores were asked for, and the representations that come with them were not kept.
NO_REPRESENTATIONS = (
    "Representations are not compared: no two runs kept what enters the last linear layer for the same examples. It is "
    "captured in calls of models of PyTorch and Keras, and of Flax in compiled functions that compare predictions with "
    "targets; what else JAX, `tf.function` or `torch.compile` compile keeps it to itself."
)

#: What to say where scores were asked for, and the inputs that come with them were not kept.
NO_INPUTS = (
    "Inputs are not shown: runs keep pictures and texts, and of other inputs, such as rows of numbers and tokens, "
    "nothing. `deviate report NAME --set inputs=FILE` shows those that you have."
)

#: What to say where the inputs of some examples on the list were kept.
SOME_INPUTS = (
    "Each run keeps the inputs of its least certain examples; the others are not shown. "
    "`deviate report NAME --set inputs=FILE` shows those that you have."
)


def brief_stability(facts: Stability) -> list[str]:
    """Say in a few sentences how much predictions differ, or why that is not known."""
    if facts.withheld:
        return [f"Predictions are not compared: {facts.withheld}."]
    if facts.labels is not None:
        known = facts.labels.correctness
        of_classes = (
            []
            if known is None
            else [*_classes(known), *_correlation(known.correlation, "Whether two runs are right correlates")]
        )
        scores = _correlation(facts.labels.score_correlation, "The scores of two runs correlate")
        return [
            _churn(facts, facts.labels),
            _stable(facts.labels),
            *_groups(facts.groups),
            *of_classes,
            *scores,
        ]
    return _values(facts.values) if facts.values is not None else []


def screen_stability(facts: Stability) -> tuple[list[str], list[str]]:
    """Say in one sentence how much predictions differ, or why that is not known; and the same in fewer words."""
    if facts.withheld or facts.labels is None:
        said = brief_stability(facts)[:1]
        return said, said
    churn, examples = facts.labels.churn, facts.examples
    place = f"{facts.site.file}:{facts.site.line}"
    of_others = [f"These answers, at {place}, do not give the values of {facts.disputed}."] if facts.disputed else []
    if churn.value == 0:
        said = [f"{_labelled(facts, facts.labels)}.", *of_others]
        return said, said
    shortly = f"Churn: two runs differ on {_share(churn)} of {examples} examples."
    news = [*_groups(facts.groups, brief=True), *_surprising_class(facts.labels.correctness)]
    return [f"{_labelled(facts, facts.labels)}.", *news, *of_others], [shortly, *news, *of_others]


def _surprising_class(known: Correctness | None) -> list[str]:
    """Name the class that varies most where it is shown to vary by more than chance."""
    widest = _widest_class(known) if known else None
    if widest is None or not widest.sd or widest.p is None or widest.p >= ALPHA:
        return []
    return [f"Class {widest.name} varies most: the SD of its accuracy is {points(widest.sd)}{_times(widest)}."]


def stability_sentences(facts: Stability) -> list[str]:
    """Say all that is known of the predictions in one evaluation."""
    known = facts.labels.correctness if facts.labels is not None else None
    course = [] if facts.learning is None else learning_sentences(facts.learning)
    if known is None:
        return [*brief_stability(facts), *course]
    return [*brief_stability(facts), *_variance(known), *_ensembles(known), *course]


def _churn(facts: Stability, labels: Labels) -> str:
    forced = labels.correctness.excess.forced.value if labels.correctness is not None else None
    beyond = ""
    if forced is not None and labels.churn.value:
        explained = show_percent(forced) if forced else "none of it"
        beyond = f"; the difference between their accuracies explains {explained}"
    return f"{_labelled(facts, labels)}{beyond}."


def _labelled(facts: Stability, labels: Labels) -> str:
    if labels.churn.value == 0:
        # Of other models of the program, runs may answer the same examples otherwise.
        which = f"For {facts.metric}, all" if facts.metric else "All"
        return f"{which} runs answer each of the {facts.examples} examples alike"
    return f"Churn: two runs answer {_share(labels.churn)} of the {facts.examples} examples differently"


def _share(churn: Estimate) -> str:
    return f"{show_share(churn.value)}{f' {show_shares(churn.interval)}' if churn.interval.known else ''}"


def _stable(labels: Labels) -> str:
    known = labels.correctness
    if known is None:
        return f"All runs agree on {show_percent(1 - labels.unstable)} of the examples."
    wrong = f", alike and wrong on {show_percent(known.stably_wrong)}" if known.stably_wrong else ""
    depend = f"; on {show_percent(labels.unstable)} it depends on the run" if labels.unstable else ""
    return f"All runs are right on {show_percent(known.stably_right)} of the examples{wrong}{depend}."


def _classes(known: Correctness) -> Iterator[str]:
    if widest := _widest_class(known):
        yield f"Class {widest.name} varies most: the SD of its accuracy is {_wide(widest, widest.examples)}."


def _widest_class(known: Correctness) -> ClassStability | None:
    spreads = [each for each in known.classes if each.sd is not None]
    if len(spreads) < 2 or len(spreads) != len(known.classes):
        return None
    widest = max(spreads, key=lambda each: each.sd or 0.0)
    return widest if widest.sd and _is_largest(widest.sd, [each.sd or 0.0 for each in spreads]) else None


def _correlation(mean: Estimate | None, what: str) -> Iterator[str]:
    if mean is not None and mean.value is not None:
        ends = show_interval(mean.interval, lambda end: show(end, -2))
        yield f"{what} by {show(mean.value, -2)}{ends}."


def _groups(facts: GroupFacts | None, *, brief: bool = False) -> Iterator[str]:
    if facts is None:
        return
    for rate in ("accuracy", max(ERRORS, key=lambda name: _widest(facts, name)[1])):
        group, sd = _widest(facts, rate)
        sds = [group.rates[rate].sd or 0.0 for group in facts.groups if rate in group.rates]
        if group is None or not sd or not _is_largest(sd, sds):
            continue
        chance = _chance(group.rates[rate].p, group.examples) if rate == "accuracy" and not brief else ""
        wide = f"{points(sd)}{_times(group.rates[rate])}{chance}"
        if rate == "accuracy":
            yield f"Group {group.label} varies most: the SD of its accuracy is {wide}."
        else:
            yield f"The {ERRORS[rate]} varies most in {group.label}: its SD is {wide}."


def _is_largest(sd: float, sds: Sequence[float]) -> bool:
    """Tell whether one SD alone is the largest in the digits that are shown."""
    return sum(points(each) == points(sd) for each in sds) == 1


def _widest(facts: GroupFacts, rate: str) -> tuple[GroupStability | None, float]:
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
    return [f"{apart}{error}.", *_correlation(values.correlation, "The predictions of two runs correlate")]


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
    return "what was predicted there last in each run" if facts.kept == "last" else "the best pass there in each run"


def show_interval(interval: Interval, shown: Callable[[float], str] = show_percent) -> str:
    """Return an interval in brackets, after a space; nothing where one of its ends is not known."""
    if interval.low is None or interval.high is None:
        return ""
    return f" ({show_level(interval.level)} CI [{shown(interval.low)}, {shown(interval.high)}])"


def _three_digits(value: float) -> str:
    return significant(value, 3)


# Tables of groups of examples: how well runs do on each, and how much that varies.

GROUPS_MATCHED: dict[Match, str] = {
    "index": "by the number of each example",
    "digest": "by the id of each example",
    "position": "by position: row by row in the order of the examples",
}


def group_tables(facts: GroupFacts) -> list[Table]:
    """Return the rates of each group with their SD against that of all examples, then what else is known of it."""
    notes = [f"Groups of {source}, matched {GROUPS_MATCHED[by]}." for source, by in facts.sources.items()]
    if facts.positive is not None:
        notes.append(f"Positive: class {facts.positive}, against all others.")
    groups = [facts.overall, *facts.groups]
    spread = Table(
        caption="Rates by group of examples over the runs",
        slug="groups",
        columns=columns(
            *("group", "examples", "positives", "accuracy", "SD", "× all", "FPR", "SD of FPR", "× all"),
            *("FNR", "SD of FNR", "× all"),
        ),
        rows=[Row(cells=_spread_cells(each)) for each in groups],
        notes=[*notes, "SD: percentage points; × all: as a multiple of the SD on all examples."],
    )
    more = Table(
        caption="Groups against chance",
        slug="groups-chance",
        columns=columns("group", "range", "SD", "by chance", "p", "recall", "precision", "churn"),
        rows=[Row(cells=_chance_cells(each)) for each in groups],
        notes=[
            "Range, SD and by chance: of the accuracy, percentage points; by chance: the SD of runs that guess each "
            "example anew with this accuracy. p: by Holm over the groups, that runs differ no more than independent "
            "errors on the same examples make them."
        ],
    )
    return [*telling([spread]), *telling([more])]


def _spread_cells(group: GroupStability) -> list[Cell]:
    positives = number("–" if group.positives is None else str(group.positives), group.positives)
    cells = [Cell(group.label), number(str(group.examples), group.examples), positives]
    for name in ("accuracy", "fpr", "fnr"):
        rate = group.rates.get(name)
        known = (None, None, None) if rate is None else (rate.mean, rate.sd, rate.ratio)
        cells += [share_cell(known[0]), points_cell(known[1]), plain_cell(known[2])]
    return cells


def _chance_cells(group: GroupStability) -> list[Cell]:
    accuracy = group.rates["accuracy"]
    recall, precision = (group.rates.get(name) for name in ("recall", "precision"))
    shares = [None if each is None else each.mean for each in (recall, precision)]
    return [
        Cell(group.label),
        points_cell(accuracy.range),
        points_cell(accuracy.sd),
        points_cell(accuracy.floor),
        number(Numbers(ALPHA).p(accuracy.p), accuracy.p),
        *(share_cell(share) for share in (*shares, None if group.churn is None else group.churn.value)),
    ]


# What is said of evaluations that are run after the training.

#: Said of passes that did not complete, where each run is evaluated several times.
FEWER = " Until then the value of a run is the mean of its evaluations that completed."


def conditions(facts: EvaluationFacts) -> str:
    """Say what an evaluation has otherwise than the training; empty: nothing."""
    parts = [
        f"device {facts.device}" if facts.device is not None else "",
        count(facts.threads, "thread") if facts.threads is not None else "",
        *(f"{name}={value}" for name, value in facts.environment.items()),
        facts.python,
    ]
    return ", ".join(part for part in parts if part)


def evaluation_caveats(evaluations: Iterable[EvaluationFacts]) -> Iterable[Caveat]:
    """Yield which evaluations failed, and which are still to be made."""
    for each in evaluations:
        alike: dict[tuple[str, str, bool], list[str]] = {}
        for lost in each.failed:
            alike.setdefault((ended_as(lost.status), lost.reason, lost.damaged), []).append(lost.run)
        for (ended, reason, damaged), runs in alike.items():
            names = list(dict.fromkeys(runs))
            message = (
                f"Evaluation {each.name} {ended} after {count(len(names), 'run')} ({listed(names)}): {reason}. "
                "What the training recorded is kept; --retry-failed evaluates again."
            )
            if each.repeat > 1:
                message += " Until then a run of these has no value." if damaged else FEWER
            yield Caveat(slug="evaluation-failed", message=message)
        if waiting := each.runs - each.evaluated - len({lost.run for lost in each.failed}):
            message = f"Evaluation {each.name} has not been made of {count(waiting, 'run')} yet."
            yield Caveat(slug="evaluation-missing", message=message)


def evaluation_methods(evaluations: Iterable[EvaluationFacts]) -> Iterable[str]:
    """Yield a sentence on each evaluation."""
    for each in evaluations:
        often = f" {each.repeat} times" if each.repeat > 1 else ""
        how = f" with {text}" if (text := conditions(each)) else ""
        mean = "; we report the mean of these evaluations per run" if each.repeat > 1 else ""
        command = code(command_text(each.command))
        yield f"After each training, we ran {command}{often}{how} in the folder of the run{mean}."


# The evaluations after the training, and how much those of one run differ.

#: What a reader has to know of the SDs.
_NOTE = (
    "SD between runs: of the means of their evaluations. SD within a run: of the evaluations of one run around their "
    "mean, pooled over runs; the evaluation alone varies there."
)


def evaluations_brief(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show how much repeated evaluations differ within a run."""
    tables = [table for each in facts.evaluations if (table := _within(each)) is not None]
    return Section(slug="evaluations", blocks=[*tables]) if tables else None


def evaluations_full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the evaluations, and show how much repeated ones differ within a run."""
    if not facts.evaluations:
        return None
    tables = [table for each in facts.evaluations if (table := _within(each)) is not None]
    return Section(slug="evaluations", title="Evaluations after the training", blocks=[_listed(facts), *tables])


def _listed(facts: ExperimentFacts) -> Table:
    rows = [
        Row(
            cells=[
                Cell(each.name),
                Cell(command_text(each.command)),
                Cell(conditions(each)),
                number(str(each.repeat), each.repeat),
                number(f"{each.evaluated} of {each.runs}", each.evaluated),
            ]
        )
        for each in facts.evaluations
    ]
    return Table(
        caption="Commands run in the folder of each run after its training",
        columns=columns("evaluation", "command", "otherwise than the training", "times", "runs evaluated", words=3),
        rows=rows,
    )


def _within(facts: EvaluationFacts) -> Table | None:
    if not facts.within:
        return None
    rows = [
        Row(
            cells=[
                Cell(each.metric),
                Cell(each.variant),
                number(str(each.n), each.n),
                plain_cell(each.sd_between),
                plain_cell(each.sd_within),
            ]
        )
        for each in facts.within
    ]
    return Table(
        caption=f"{facts.name}: {facts.repeat} evaluations of each run",
        columns=columns("metric", "variant", "runs", "SD between runs", "SD within a run", words=2),
        rows=rows,
        notes=[_NOTE],
    )
