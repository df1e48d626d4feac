"""Which answers change if one trains again: churn, flips, classes, ensembles."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.learning import LearningFacts
from deviate.facts.stability import ClassStability, Correctness, Flip, Stability
from deviate.facts.weights import WeightFacts
from deviate.report.figures import Figure, slug
from deviate.report.numbers import Numbers, last_place, show, show_interval, show_percent, significant
from deviate.report.page import Block, Cell, Drawing, Fold, Row, Section, Sentences, Table
from deviate.report.topics.curves import Charts
from deviate.report.topics.metrics import columns, number, plain_cell, points_cell, share_cell
from deviate.report.topics.stability import (
    ALPHA,
    NO_INPUTS,
    NO_REPRESENTATIONS,
    NOTHING_CAPTURED,
    SOME_INPUTS,
    brief_stability,
    group_tables,
    provenance,
    representation_sentences,
    stability_sentences,
    weight_sentences,
)
from deviate.report.words import count
from deviate.stats.pairs import Estimate

#: Flips and classes that a page shows at once.
FLIPS_SHOWN = 20

#: Evaluations that a table shows, of more every second one, and so on.
PASSES_SHOWN = 25

TITLE = "Predictions that change from run to run"


def brief(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say of each variant how many predictions change."""
    shown = [(variant.variant, facts.main_stability(variant.variant)) for variant in facts.variants]
    known = [(variant, each) for variant, each in shown if each is not None]
    if not known:
        return None
    several = len(facts.variants) > 1
    blocks: list[Block] = [
        Sentences(about=variant if several else "Predictions", sentences=brief_stability(each))
        for variant, each in known
    ]
    return Section(slug="predictions", blocks=blocks)


def full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show of each variant the main evaluation, then the others, folded."""
    if not facts.stabilities and _was_sought(facts):
        return Section(slug="predictions", title=TITLE, blocks=[Sentences(sentences=[NOTHING_CAPTURED])])
    blocks: list[Block] = []
    for variant in facts.variants:
        main = facts.main_stability(variant.variant)
        if main is None:
            continue
        figures = charts.predictions.get(variant.variant, [])
        own = _evaluation(main, figures)
        others = [each for each in facts.stabilities if each.variant == variant.variant and each is not main]
        own += [Fold(title=_name(each), blocks=_evaluation(each), open=False) for each in others]
        if len(facts.variants) == 1:
            return Section(slug="predictions", title=TITLE, blocks=own)
        blocks.append(_variant_fold(variant.variant, main, own, open=bool(figures) and not any(map(_is_open, blocks))))
    return Section(slug="predictions", title=TITLE, blocks=blocks) if blocks else None


def _is_open(block: Block) -> bool:
    return isinstance(block, Fold) and block.open


def _variant_fold(variant: str, main: Stability, blocks: list[Block], *, open: bool) -> Fold:
    """Fold one of several variants; of them the first is open in which predictions change."""
    churn = None if main.labels is None else main.labels.churn.value
    remark = "" if churn is None else f"churn {show_percent(churn)}"
    return Fold(title=variant, remark=remark, blocks=blocks, open=open, emphasis="strong")


def _was_sought(facts: ExperimentFacts) -> bool:
    """Tell whether completed runs were to keep predictions: imported ones were not."""
    definition = facts.definition
    completed = any(variant.completed for variant in facts.variants)
    return completed and definition.imported is None and definition.predictions != "none"


def representations(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say how alike runs represent the same examples."""
    order = [variant.variant for variant in facts.variants]
    known = sorted(facts.representations, key=lambda each: order.index(each.variant))
    first = next((each for each in known if each.cka.value is not None), None)
    blocks: list[Block] = [
        Sentences(
            about=each.variant if len(facts.variants) > 1 else "",
            sentences=representation_sentences(each, scale=each is first),
        )
        for each in known
    ]
    if not blocks and facts.stabilities and facts.definition.predictions.partition(":")[0] == "scores":
        blocks.append(Sentences(sentences=[NO_REPRESENTATIONS]))
    return Section(slug="representations", title="Representations", blocks=blocks) if blocks else None


def weights(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show how far final weights lie apart, whole and by layer."""
    blocks: list[Block] = []
    first = next((each for each in facts.weights if each.distance is not None), None)
    for each in facts.weights:
        about = each.variant if len(facts.variants) > 1 else ""
        of = f" of {about}" if about else ""
        blocks.append(Sentences(about=about, sentences=weight_sentences(each, scale=each is first)))
        if each.variant in charts.weights:
            blocks.append(Drawing(figure=charts.weights[each.variant]))
        if each.layers:
            blocks.append(Fold(title=f"Layers{of}", blocks=[_layer_table(each)], open=False))
        if each.moments:
            blocks.append(Fold(title=f"Iterations{of}", blocks=[_moment_table(each)], open=False))
    return Section(slug="weights", title="Final weights", blocks=blocks) if blocks else None


def _moment_table(facts: WeightFacts) -> Table:
    return Table(
        caption="Distance of the weights of two runs after iterations, each brought to length 1",
        slug=slug("moments", facts.variant),
        columns=columns("after", "distance", "CI"),
        rows=[Row(cells=[Cell(each.name), *_distance(each.distance)]) for each in facts.moments],
    )


def _distance(distance: Estimate) -> list[Cell]:
    interval = distance.interval
    low, high = interval.low, interval.high
    place = None if low is None or high is None else last_place(high - low)
    return [
        number(show(distance.value, place, digits=3), distance.value),
        number(show_interval(interval, place), low),
    ]


def _layer_table(facts: WeightFacts) -> Table:
    return Table(
        caption="Distance of the weights of each layer between two runs, each brought to length 1",
        slug=slug("layers", facts.variant),
        columns=columns("layer", "weights", "distance", "CI"),
        rows=[
            Row(
                cells=[
                    Cell(layer.name),
                    number(str(layer.elements), layer.elements),
                    *_distance(layer.distance),
                ]
            )
            for layer in facts.layers
        ],
    )


def _name(facts: Stability) -> str:
    what = facts.metric or facts.site.function
    return f"{what}, {facts.kept} evaluation ({facts.site.file}:{facts.site.line}, {facts.data or 'data unknown'})"


def _drawn(figures: Sequence[Figure], *kinds: str) -> list[Block]:
    return [Drawing(figure=figure) for figure in figures if figure.slug.startswith(kinds)]


def _evaluation(facts: Stability, figures: Sequence[Figure] = ()) -> list[Block]:
    blocks: list[Block] = [
        Sentences(sentences=stability_sentences(facts), listed=True),
        *_drawn(figures, "classes", "passes"),
        Sentences(sentences=provenance(facts), emphasis="quiet"),
    ]
    if facts.learning is not None and facts.learning.passes:
        blocks.append(Fold(title="Every evaluation", blocks=[_course_table(facts.learning)], open=False))
    if facts.labels is None:
        return blocks
    labels = facts.labels
    known = labels.correctness
    if known is not None:
        blocks.append(Fold(title="Classes", blocks=[_class_table(known.classes)]))
    if facts.groups is not None:
        blocks.append(Fold(title="Groups", blocks=[*group_tables(facts.groups)]))
    if labels.flips:
        blocks.append(
            Fold(
                title="Flip list",
                remark=f"the {count(min(len(labels.flips), FLIPS_SHOWN), 'example')} on which runs agree least",
                blocks=[
                    _flip_table(
                        labels.flips[:FLIPS_SHOWN],
                        len(facts.runs),
                        by_index=facts.by == "index",
                        has_scores=known is not None and bool(known.calibration),
                    )
                ],
                open=False,
            )
        )
    if matrix := _drawn(figures, "churn"):
        blocks.append(Fold(title="Every two runs", blocks=matrix, open=False))
    if known is not None:
        tables: list[Block] = [
            *_drawn(figures, "ensembles", "abstention"),
            _abstention_table(known),
        ]
        tables += [_calibration_table(known)] if known.calibration else []
        blocks.append(Fold(title="Several runs together", blocks=tables, open=False))
    return blocks


def _class_table(classes: Sequence[ClassStability]) -> Table:
    return Table(
        caption="Accuracy by class over the runs",
        slug="classes",
        columns=columns(
            "class", "examples", "mean", "SD", "range", "× overall", "by chance", "p", "churn", "FPR", "FNR"
        ),
        rows=[_class_row(each) for each in classes],
        notes=[
            "SD, range, by chance: percentage points; by chance: the SD of runs that guess each example anew with this "
            "accuracy.",
            "p: by Holm over the classes, that runs differ no more than independent errors on the same examples make "
            "them.",
        ],
    )


def _class_row(each: ClassStability) -> Row:
    cells = [
        Cell(each.name),
        number(str(each.examples), each.examples),
        share_cell(each.accuracy),
        points_cell(each.sd),
        points_cell(each.range),
        plain_cell(each.ratio),
        points_cell(each.floor),
        number(Numbers(ALPHA).p(each.p), each.p),
        share_cell(each.churn.value),
        share_cell(each.fpr),
        share_cell(each.fnr),
    ]
    return Row(cells=cells)


def _flip_table(flips: Sequence[Flip], runs: int, *, by_index: bool, has_scores: bool) -> Table:
    inputs = [bool(flip.input or flip.picture) for flip in flips]
    shown, lacking = any(inputs), SOME_INPUTS if any(inputs) else NO_INPUTS
    heads = ("number" if by_index else "position", "target", "most frequent", "runs", "next", "runs")
    return Table(
        caption="Examples on which runs disagree most",
        slug="flips",
        columns=columns(*heads, words=0, last="input" if shown else ""),
        rows=[
            Row(
                cells=[
                    number(str(flip.example), flip.example),
                    Cell(flip.target),
                    Cell(flip.majority, emphasis="plain" if flip.majority == flip.target else "bad"),
                    number(f"{flip.agreeing}/{runs}", flip.agreeing),
                    Cell(flip.other),
                    number(f"{flip.others}/{runs}", flip.others),
                    *([Cell(flip.input, picture=flip.picture)] if shown else []),
                ]
            )
            for flip in flips
        ],
        notes=[lacking] if has_scores and not all(inputs) else [],
    )


def _course_table(facts: LearningFacts) -> Table:
    passes = list(enumerate(facts.passes, start=1))
    step = -(-len(passes) // PASSES_SHOWN)
    shown = [*passes[:-1:step], passes[-1]]
    return Table(
        caption="Predictions by evaluation",
        slug="passes",
        remark="" if step == 1 else f"one of {step}",
        columns=columns("evaluation", "iteration", "accuracy", "churn", "changed", words=0),
        rows=[
            Row(
                cells=[
                    number(str(place), place),
                    number(str(each.iteration), each.iteration),
                    *(share_cell(share) for share in (each.accuracy, each.churn.value, each.changed)),
                ]
            )
            for place, each in shown
        ],
        notes=["churn: between two runs; changed: from one evaluation of a run to its next."],
    )


def _abstention_table(known: Correctness) -> Table:
    return Table(
        caption="Answering only where runs agree",
        slug="abstention",
        columns=columns("runs that agree", "answered", "accuracy", words=0),
        rows=[
            Row(cells=[number(str(least), least), share_cell(share), share_cell(accuracy)])
            for least, share, accuracy in known.abstention
        ],
    )


def _calibration_table(known: Correctness) -> Table:
    names = {"nll": "negative log-likelihood (nats)", "brier": "Brier score", "ece": "calibration error (ECE)"}
    return Table(
        caption="Scores against targets",
        slug="calibration",
        columns=columns("measure", "mean", "SD"),
        rows=[
            Row(
                cells=[
                    Cell(names[name]),
                    number(show(each.spread.mean, last_place(each.spread.sd), digits=3), each.spread.mean),
                    number(significant(each.spread.sd, 2), each.spread.sd),
                ]
            )
            for name, each in known.calibration.items()
        ],
    )
