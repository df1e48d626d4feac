"""A comparison at a terminal: one screen, and what it rests on."""

from __future__ import annotations

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.report.numbers import Numbers
from deviate.report.page import Answer, Block, Column, Fold, Hint, Section, Sentences, Table
from deviate.report.pages.cells import caveat_blocks, more_blocks, telling
from deviate.report.pages.comparison.rows import TESTED, metric_rows, pair_names, places_text
from deviate.report.text.caveat import is_on_screen
from deviate.report.text.comparison.caveats import comparison_caveats
from deviate.report.text.comparison.cells import adjusted_text
from deviate.report.text.comparison.headline import comparison_headline
from deviate.report.text.comparison.methods import omnibus_p
from deviate.report.text.comparison.reasons import reasons, spread_reasons
from deviate.report.text.words import count
from deviate.results.order import main_metric

#: Metrics shown in the table of a pair on a brief page before the rest is counted.
METRICS_SHOWN = 15

#: The same on a screen of one pair.
METRICS_ON_SCREEN = 4

#: Metrics whose verdict is explained on a brief page.
EXPLAINED = 3

#: Labels and names longer than this are cut or folded on narrow screens.
NAME_WIDTH = 20

_BRIEF = (*TESTED, "ratio", "ratio_ci", "verdict")


def screen_answer(comparison: Comparison) -> Section:
    """Say how the experiments compare, without a title."""
    return Section(slug="answer", blocks=[Answer(sentences=comparison_headline(comparison), listed=True)])


def screen_tables(comparison: Comparison) -> Section:
    """Return the table of one pair; of several pairs one row each, on the main metric."""
    most = METRICS_ON_SCREEN if len(comparison.pairs) == 1 else 1
    tables = [_brief_table(pair, comparison, most) for pair in comparison.pairs]
    return Section(slug="verdicts", blocks=[*telling(tables)])


def screen_reasons(comparison: Comparison) -> Section | None:
    """Explain the verdict on the main metric of one pair, and that on its spread where it is claimed to differ."""
    if len(comparison.pairs) > 1:
        return None
    (pair,) = comparison.pairs
    main = main_metric(pair.metrics)
    blocks: list[Block] = [Sentences(sentences=reasons(main, pair, comparison))]
    if main.noisier.endswith("noisier"):
        blocks.append(Sentences(sentences=spread_reasons(main, pair, comparison), about=f"spread of {main.name}"))
    return Section(slug="reasons", blocks=blocks)


def warnings(comparison: Comparison) -> Section | None:
    """List what casts doubt on the verdicts, and what was asked for; `more` counts the rest."""
    blocks = caveat_blocks(filter(is_on_screen, comparison_caveats(comparison.comparability)))
    return Section(slug="trust", blocks=blocks) if blocks else None


def more(comparison: Comparison) -> Section:
    """Say what ``-v`` shows."""
    notes = sum(not is_on_screen(each) for each in comparison_caveats(comparison.comparability))
    return Section(slug="more", blocks=more_blocks(notes, "all metrics", "all reasons"))


def brief_answer(comparison: Comparison) -> Section:
    """Say how the experiments compare, with the order of more than two."""
    blocks: list[Block] = [Answer(sentences=comparison_headline(comparison), listed=True)]
    ranked = [omnibus for omnibus in comparison.omnibus if omnibus.kind != "speed"]
    for omnibus in ranked[:METRICS_SHOWN]:
        places = [
            f"{place.rank}.  {place.name}  (place {places_text(place.lowest, place.highest, ' to ')})"
            for place in omnibus.places
        ]
        ranking = [Sentences(sentences=places, listed=True)] if places else []
        blocks.append(Fold(title=omnibus.name, remark=f"({omnibus_p(omnibus, comparison)})", blocks=[*ranking]))
    return Section(slug="answer", blocks=blocks)


def brief_tables(comparison: Comparison) -> Section:
    """Return a table for each pair, all with the same columns."""
    return Section(slug="verdicts", blocks=[*telling([_brief_table(pair, comparison) for pair in comparison.pairs])])


def _brief_table(pair: PairComparison, comparison: Comparison, most: int = METRICS_SHOWN) -> Table:
    on_screen = most < METRICS_SHOWN
    measured = [metric for metric in pair.metrics if metric.kind != "speed"] if on_screen else []
    metrics = (measured or pair.metrics)[:most]
    main = main_metric(pair.metrics)
    metrics = metrics if main in metrics else [*metrics[:-1], main]
    more, rest = len(pair.metrics) - len(metrics), "-v" if on_screen else "--format md"
    ci = f"{Numbers(pair.alpha).level()} CI"
    hint = Hint(text=f"and {count(more, 'more metric')}; all of them:", command=f"{comparison.command} {rest}")
    return Table(
        caption=f"A {pair.a}  against  B {pair.b}",
        remark=f"({pair.variant_a})" if pair.variant_a == pair.variant_b else "",
        titled=True,
        columns=[
            Column(head="metric", numeric=False, fold_at=NAME_WIDTH),
            Column(head="n", sacrifice=6, emphasis="quiet"),
            Column(head=pair.a, sacrifice=1),
            Column(head=pair.b, sacrifice=1),
            Column(head="A − B", sacrifice=2),
            Column(head=ci, sacrifice=3, emphasis="quiet"),
            Column(head="p adj." if adjusted_text(comparison) else "p"),
            Column(head="SD A/B", sacrifice=4),
            Column(head=ci, sacrifice=5, emphasis="quiet"),
            Column(head="verdict", numeric=False, emphasis="strong"),
        ],
        rows=metric_rows(metrics, pair, "metric, aggregate", "n", *_BRIEF),
        more=hint if more else None,
    )


def brief_reasons(comparison: Comparison) -> Section:
    """Explain the main metric of each pair, and with one pair what is unlike it and the spread."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        main, several = main_metric(pair.metrics), len(comparison.pairs) > 1
        unlike = [metric for metric in pair.metrics if metric.kind != "speed" and metric.verdict != main.verdict]
        blocks += [
            Sentences(sentences=reasons(metric, pair, comparison), about=f"{pair_names(comparison, pair)}{metric.name}")
            for metric in ([main] if several else [main, *unlike][:EXPLAINED])
        ]
        if not several and main.noisier != "too few runs":
            blocks.append(Sentences(sentences=spread_reasons(main, pair, comparison), about=f"spread of {main.name}"))
    return Section(slug="reasons", blocks=blocks)


def remarks(comparison: Comparison) -> Section | None:
    """List the caveats without a title."""
    blocks = caveat_blocks(comparison_caveats(comparison.comparability))
    return Section(slug="trust", blocks=blocks) if blocks else None
