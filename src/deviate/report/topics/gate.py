"""The pages of a gate: whether it passes, metric by metric, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from deviate.facts.compared_metric import UNEQUAL_SDS
from deviate.facts.gate import Gate
from deviate.facts.gate_metric import WIDEST_SHARE, GateMetric
from deviate.facts.looks import GateLook
from deviate.report.escape import clean
from deviate.report.figures import (
    Figure,
    axis_title,
    chart,
    domain,
    quantitative,
    quantity,
    rows,
    slug,
    tips,
    unique,
    view,
)
from deviate.report.numbers import (
    Numbers,
    last_place,
    show,
    show_interval,
    show_level,
    show_percent,
    unit_in_name,
    unit_text,
)
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    ByMetric,
    Cell,
    Drawing,
    Facts,
    Fold,
    Page,
    Panel,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.caveat import Caveat, more_warnings, warning_lines
from deviate.report.topics.comparison_caveats import (
    comparison_caveats,
    pairing_sentences,
    shared_names,
    with_shared_names,
)
from deviate.report.topics.comparison_predictions import changed_sentences
from deviate.report.topics.gate_lines import drop_lines, gate_lines, group_sentences, last_digit
from deviate.report.topics.metrics import TRUST, again_sections, caveat_blocks, columns, number
from deviate.report.topics.verdicts import runs_at_looks
from deviate.report.words import capital, count, listed
from deviate.stats.contrast import TESTS
from deviate.stats.multiplicity import claim_factor

# Why a metric passes a gate or does not, in sentences with numbers, and what to know before trusting it.


def gate_sentence(gate: Gate) -> str:
    """Say whether the side that is checked passes."""
    failing = [metric.outcome for metric in gate.metrics if not metric.passed]
    outcomes = listed(list(dict.fromkeys(failing)))
    reasons = [f"{len(failing)} of {count(len(gate.metrics), 'metric')} ({outcomes})"] if failing else []
    reasons += [] if gate.failures.passed else ["the rate of failures"]
    reasons += ["the share of answers that change"] if gate.churn is not None and not gate.churn.passed else []
    reasons += group_failures(gate)
    outcome = "passes" if gate.passed else f"does not pass: {listed(reasons)}"
    return f"{gate.a} against {gate.b} {outcome}."


def failure_sentences(gate: Gate) -> list[str]:
    """Say how often runs of the side that is checked fail, and what so many runs cannot show."""
    failures, level = gate.failures, show_level(1 - gate.look.alpha)
    runs = count(failures.runs, "run")
    failed = f"{failures.failed} of {runs}" if failures.failed else f"None of {runs}"
    upper = f"the rate is at most {show_percent(failures.upper)} ({level} one-sided limit)"
    sentences = [f"{failed} of {gate.a} failed, gave no value or collapsed: {upper}.", *_left_out(gate)]
    if failures.allowed is not None:
        kept = "kept" if failures.passed else "not shown to be kept"
        sentences.append(f"Allowed is {show_percent(failures.allowed)}, which is {kept}.")
    if not failures.failed:
        sentences.append(
            f"{runs} show a rate of {show_percent(failures.seen)} or more at least once in {level} of checks; smaller "
            "ones go unseen more often, and so does what such failures would do to the mean."
        )
    return sentences


def _left_out(gate: Gate) -> list[str]:
    """Say how many runs of the baseline failed, gave no value or collapsed in the metric that lost the most."""
    metric = max(gate.metrics, key=lambda metric: metric.lost_b, default=None)
    if metric is None or not metric.lost_b:
        return []
    where, verb = (f" in {metric.name}" if len(gate.metrics) > 1 else ""), "is" if metric.lost_b == 1 else "are"
    return [f"{metric.lost_b} of {count(metric.ended_b, 'run')} of {gate.b} did{where}, and {verb} left out."]


def churn_sentences(gate: Gate) -> list[str]:
    """Say how many answers change and how many may; nothing where that is not checked."""
    if gate.churn is None:
        return []
    sentences = changed_sentences(gate.churn.predictions, gate.a, gate.b)
    allowed = f"Allowed is {show_percent(gate.churn.allowed)}"
    if gate.churn.upper is None:
        return [*sentences, f"{allowed}; no upper limit of the share is known, so it does not pass."]
    level = show_level(1 - gate.look.alpha)
    kept = "kept" if gate.churn.passed else "not shown to be kept"
    upper = f"the share is at most {show_percent(gate.churn.upper)} ({level} one-sided limit)"
    return [*sentences, f"{allowed}, which is {kept}: {upper}."]


def group_failures(gate: Gate) -> list[str]:
    """Return what of the groups fails, as words of a list; nothing where they pass or none are checked."""
    if gate.groups is None or gate.groups.passed:
        return []
    failing = sum(not group.accuracy.passed for group in gate.groups.groups)
    return [f"{failing} of {count(len(gate.groups.groups), 'group')}"] if failing else ["the groups"]


def outcome_text(metric: GateMetric) -> str:
    """Write an outcome, and what becomes of one that is open."""
    if metric.outcome != "inconclusive":
        return metric.outcome
    return f"undecided{' (counts as passed)' if metric.passed else ''}"


def gate_reasons(metric: GateMetric, alpha: float) -> list[str]:
    """Say where the mean stands to the limit, and why that decides or does not.

    `alpha` is the share of wrong claims of each kind.
    """
    if metric.same and not metric.lost_a:
        return [*_stand(metric)]
    numbers = Numbers(alpha)
    return [*_stand(metric), *_decided(metric, numbers), *_undecided(metric, numbers), *_later(metric)]


def _stand(metric: GateMetric) -> Iterator[str]:
    place = last_digit(metric)
    unit = unit_text(metric.unit)
    yield (
        f"{show(metric.mean_a, place)} ± {show(metric.sd_a, place)}{unit} ({count(metric.n_a, 'run')}) against "
        f"{show(metric.mean_b, place)} ± {show(metric.sd_b, place)}{unit} ({count(metric.n_b, 'run')}), mean ± SD."
    )
    yield from (f"{capital(line)}." for line in drop_lines(metric, between=", "))


def _decided(metric: GateMetric, numbers: Numbers) -> Iterator[str]:
    if metric.outcome == "worse":
        yield f"That is more than noise (p {numbers.compared_p(metric.p_worse_adjusted)}, one-sided)."
    elif metric.outcome == "not worse":
        p = numbers.compared_p(metric.p_not_worse)
        yield f"The drop stays within the limit (one-sided p {p})."
        if metric.sd_ratio is not None and metric.sd_ratio >= UNEQUAL_SDS:
            yield (
                f"Its SD is {metric.sd_ratio:.1f} times that of the baseline: if its bad runs are outliers, such a "
                "pass is wrong more often than alpha says."
            )
    elif metric.outcome == "no drop shown":
        drop = show(metric.drop_seen, last_digit(metric))
        seen = f"; a drop of {drop} would be shown by 4 of 5 such checks" if metric.drop_seen else ""
        yield (
            f"No drop is shown (p {numbers.compared_p(metric.p_worse)}, one-sided){seen}. A --max-drop "
            "above 0 asks for proof that no larger one is there."
        )


def _later(metric: GateMetric) -> Iterator[str]:
    if metric.claim > 1:
        yield (
            f"{count(metric.claim - 1, 'earlier check')} of these runs asked about other metrics, so p of being worse "
            f"is multiplied by {claim_factor(metric.claim)}: only the first check has all of alpha. Metrics that are "
            "named in one check share it."
        )


def _undecided(metric: GateMetric, numbers: Numbers) -> Iterator[str]:
    if metric.outcome not in ("inconclusive", "runs lost"):
        return
    if metric.lost_a:
        ways = ["gave no finite value"]
        ways += ["were left out as weak"] if metric.weak_a or metric.weak_b else []
        ways += ["collapsed"] if metric.collapsed_a or metric.collapsed_b else []
        gave = " or ".join(ways)
        yield (
            f"{metric.lost_a} of {count(metric.ended_a, 'run')} that are checked {gave}, against "
            f"{metric.lost_b} of {metric.ended_b} of the baseline: the lost runs may be the worst ones, so the others "
            f"alone do not pass{', whatever `inconclusive` says' if metric.outcome == 'runs lost' else ''}."
        )
    elif metric.compared < metric.fewest_runs:
        yield f"Below {metric.fewest_runs} runs of each, nothing is claimed."
    elif metric.reason:
        yield f"{capital(metric.reason)}."
    else:
        yield (
            "These runs show neither that the drop exceeds the limit (p "
            f"{numbers.compared_p(metric.p_worse_adjusted)}) nor that it stays within it (p "
            f"{numbers.compared_p(metric.p_not_worse)})."
        )
    if metric.runs_needed is not None:
        yield f"About {metric.runs_needed} runs of each would decide it."


def gate_caveats(gate: Gate) -> list[Caveat]:
    """List all caveats: limits that let anything pass, then those on the sides."""
    wide = [
        Caveat(slug="limit-wide", message=_wide(metric, gate.b)) for metric in gate.metrics if metric.wide is not None
    ]
    return [*wide, *_look_caveats(gate), *comparison_caveats(gate.comparability)]


def _look_caveats(gate: Gate) -> Iterator[Caveat]:
    """Say which check of growing sides it is, and what p must be below because of that."""
    look = gate.look
    if look.stopped_alpha is not None:
        message = (
            f"`deviate run --until` ended the runs of {listed(look.stopped)} when they looked alike, which makes SDs "
            f"look small: each one-sided p must be below {look.stopped_alpha:.2g} instead of {gate.alpha:g}. Wrong "
            f"claims of each kind are then {show_percent(gate.alpha)} or fewer, and up to twice as many if values are "
            "skewed."
        )
        yield Caveat(slug="stopped-by-rule", message=message, severity="note")
    if look.number > 1:
        yield Caveat(slug="checked-again", message=_checked_again(look), severity="note")
    later = [each for each in gate.judged if each.claim > 1 and each.outcome != "worse"]
    if names := [each.name for each in later if _alone(each) <= look.alpha]:
        message = (
            f"{listed(names)}: the first check of these runs would have shown the drop, but earlier ones asked about "
            "other metrics: name all metrics in one check."
        )
        yield Caveat(slug="later-check", message=message)
    if look.unrecorded:
        message = f"This check could not be recorded ({look.unrecorded}): the next one of them will not know of it."
        yield Caveat(slug="look-unrecorded", message=message)


def _alone(metric: GateMetric) -> float:
    """Return p of being worse as the first check would have it."""
    p = metric.p_worse_adjusted
    return 1.0 if p is None or metric.p_worse is None else max(metric.p_worse, p / claim_factor(metric.claim))


def _checked_again(look: GateLook) -> str:
    again = f"This is check {look.number} of these experiments as they grow ({runs_at_looks(look.sizes)})"
    if look.settled is not None:
        return (
            f"{again}. Check {look.settled} showed what this one asks, so each one-sided p must be below "
            f"{look.alpha:.2g} only."
        )
    return (
        f"{again}: each one-sided p must be below {look.alpha:.2g}, so that wrong claims of each kind stay at "
        f"{show_percent(look.whole)} or fewer over all checks."
    )


def _wide(metric: GateMetric, label: str) -> str:
    """Say of what the limit is too large a part, and what it lets pass."""
    share, sds, place = metric.limit_share or 0.0, metric.limit_sds or 0.0, last_digit(metric)
    if metric.wide == "share":
        wide = f"more than a fifth of the mean of {label}"
    elif metric.wide == "mean":
        times = f"{share:.3g} times" if share >= 10 else f"{show_percent(share)} of"
        wide = f"{times} the mean of {label} ({show(metric.mean_b, place)})"
    else:
        wide = f"{sds:.0f} SDs of {label} ({show(metric.sd_b, last_place(metric.sd_b))})"
    moves = "drop" if metric.direction == "higher" else "rise"
    message = (
        f"{metric.name}: the limit {metric.drop.text} is {wide}: a {moves} to {show(metric.limit, place)} would pass"
    )
    percent = metric.fractions and not metric.drop.relative and share > WIDEST_SHARE
    meant = f"; if points of a percentage are meant, type --max-drop {metric.drop.value / 100:.10g}" if percent else ""
    return f"{message}{meant}."


def gate_methods(gate: Gate) -> list[str]:
    """Say for a paper how it was checked."""
    tests = listed(list(dict.fromkeys(TESTS[metric.test].label for metric in gate.metrics)))
    over = [count(len(gate.metrics), "metric")]
    over += [count(len(gate.groups.groups), "group")] if gate.groups else []
    adjusted = f"; p-values of being worse are Holm-adjusted over {listed(over)}" if len(gate.judged) > 1 else ""
    look = gate.look
    return [
        f"Each mean is tested against its limit by one-sided {tests} tests, each kind of claim at level "
        f"{look.alpha:g}{adjusted}; intervals are {show_level(1 - 2 * look.alpha)} confidence intervals.",
        *_looks_methods(gate),
        *pairing_sentences(gate.comparability.pairings),
    ]


def _looks_methods(gate: Gate) -> Iterator[str]:
    look = gate.look
    if look.number > 1:
        yield (
            f"{gate.a} was checked against {gate.b} {look.number} times while runs were added; the later checks add "
            f"{show_percent(look.whole - gate.alpha)} of wrong claims of each kind to those of the first (alpha "
            "spending: Lan and DeMets, 1983)."
        )


def gate_page(gate: Gate, reader: Reader) -> Page:
    """Make the page of a gate for a reader."""
    if reader in AT_TERMINAL:
        page = Page(title="", reader=reader, sections=[_screen(gate) if reader == "screen" else _brief(gate)])
        return with_shared_names(page, shared_names([gate.a, gate.b]))
    methods = Sentences(sentences=gate_methods(gate), about="Check." if reader == "paper" else "")
    if reader == "paper":
        sections = [
            Section(slug="gate", blocks=[_table(gate), *_group_tables(gate)]),
            Section(slug="methods", blocks=[methods]),
        ]
    else:
        caveats = gate_caveats(gate)
        warned = warning_lines(caveats)
        sections = [
            *([Section(slug="trust", blocks=warned)] if warned else []),
            Section(slug="answer", blocks=[_answer(gate), *_figures(gate)]),
            Section(
                slug="metrics",
                title="Metric by metric",
                blocks=[_table(gate), *_level_blocks(gate), *_reasons(gate), *_conditions(gate)],
            ),
            *([Section(slug="groups", title="Group by group", blocks=_groups(gate))] if gate.groups else []),
            Section(slug="notes", title=TRUST, blocks=[*caveat_blocks(caveats)]),
            Section(slug="methods", title="For a paper: methods", blocks=[methods]),
            *again_sections(gate.command),
        ]
    return Page(title=f"{gate.a} against {gate.b}", reader=reader, sections=sections)


def _answer(gate: Gate) -> Answer:
    return Answer(sentences=[gate_sentence(gate)], badge=_badge(gate))


def _badge(gate: Gate) -> Badge:
    """Return whether the side passes; a check that stops it for want of runs alone does not look like a drop."""
    if gate.passed:
        return Badge(text="passes", emphasis="good")
    conditions = [gate.failures, *(each for each in (gate.churn, gate.groups) if each is not None)]
    open_alone = all(metric.passed or metric.outcome == "inconclusive" for metric in gate.metrics)
    if open_alone and all(each.passed for each in conditions):
        return Badge(text="undecided", emphasis="warning")
    return Badge(text="does not pass", emphasis="bad")


def _figures(gate: Gate) -> list[Block]:
    figures = gate_figures(gate)
    panels = [Panel(metric=figure.metric, blocks=[Drawing(figure=figure)]) for figure in figures]
    failing = [metric.name for metric in gate.metrics if not metric.passed]
    first = next((panel.metric for panel in panels if panel.metric in failing), panels[0].metric if panels else "")
    return [ByMetric(panels=panels, first=first)] if panels else []


def _brief(gate: Gate) -> Section:
    return Section(
        slug="answer",
        blocks=[
            Facts(pairs=gate_lines(gate), emphasis="strong"),
            *_level_blocks(gate),
            *_reasons(gate),
            *_conditions(gate),
            *_groups(gate),
            *caveat_blocks(gate_caveats(gate)),
        ],
    )


def _screen(gate: Gate) -> Section:
    blocks: list[Block] = [Facts(pairs=gate_lines(gate), emphasis="strong")]
    lost = f"{gate.failures.failed} of {count(gate.failures.runs, 'new run')} failed or collapsed."
    basis = [lost, *_left_out(gate), *_level(gate)]
    caveats = gate_caveats(gate)
    warned = [*warning_lines(caveats), *more_warnings(caveats, gate.command)]
    return Section(slug="answer", blocks=[*blocks, Sentences(sentences=basis, emphasis="quiet"), *warned])


def _level(gate: Gate) -> list[str]:
    alpha = show_percent(gate.look.alpha)
    levels = [show_level(metric.ci_room.level) for metric in gate.metrics if metric.ci_room.known]
    return [f"{levels[0]} CI in brackets, as the test is one-sided at {alpha}."] if levels else []


def _level_blocks(gate: Gate) -> list[Block]:
    return [Sentences(sentences=level, emphasis="quiet")] if (level := _level(gate)) else []


def _reasons(gate: Gate) -> list[Fold]:
    return [_reason(metric, f"{metric.name} ({metric.aggregate})", gate.look.alpha) for metric in gate.metrics]


def _reason(metric: GateMetric, title: str, alpha: float) -> Fold:
    return Fold(
        title=f"{title}: {outcome_text(metric)}",
        blocks=[Sentences(sentences=gate_reasons(metric, alpha))],
        emphasis="good" if metric.passed else "bad",
    )


def _groups(gate: Gate) -> list[Block]:
    """Return all groups in a table, and the reasons for those that do not pass."""
    if gate.groups is None:
        return []
    failing = [group.accuracy for group in gate.groups.groups if not group.accuracy.passed]
    return [
        _condition("groups", group_sentences(gate), passed=gate.groups.passed),
        *_group_tables(gate),
        *(_reason(accuracy, accuracy.name, gate.look.alpha) for accuracy in failing),
    ]


def _conditions(gate: Gate) -> list[Block]:
    failures = _condition("failures", failure_sentences(gate), passed=gate.failures.passed)
    if gate.failures.allowed is None:
        failures = msgspec.structs.replace(failures, emphasis="plain")
    if gate.churn is None:
        return [failures]
    return [failures, _condition("churn", churn_sentences(gate), passed=gate.churn.passed)]


def _condition(title: str, sentences: list[str], *, passed: bool) -> Fold:
    return Fold(title=title, blocks=[Sentences(sentences=sentences)], emphasis="good" if passed else "bad")


def _table(gate: Gate) -> Table:
    return Table(
        caption=f"{gate.a} against {gate.b}: mean ± SD; distance: from the limit, positive where it is kept",
        slug=slug("gate", gate.a, gate.b),
        columns=columns("metric", *_heads(gate), last="outcome"),
        rows=[_row(_name(metric), metric, Numbers(gate.look.alpha)) for metric in gate.metrics],
    )


def _group_tables(gate: Gate) -> list[Table]:
    if gate.groups is None or not gate.groups.groups:
        return []
    numbers = Numbers(gate.look.alpha)
    table = Table(
        caption=f"{gate.a} against {gate.b}: accuracy on groups of the evaluated examples, mean ± SD",
        slug=slug("gate", gate.a, gate.b, "groups"),
        columns=columns("group", *_heads(gate), last="outcome"),
        rows=[
            _row(Cell(group.label, remark=count(group.examples, "example")), group.accuracy, numbers)
            for group in gate.groups.groups
        ],
    )
    return [table]


def _heads(gate: Gate) -> tuple[str, ...]:
    level = show_level(1 - 2 * gate.look.alpha)
    many = " (Holm)" if len(gate.judged) > 1 else ""
    return ("n", gate.a, gate.b, "max. drop", "limit", "distance", f"{level} CI", "p not worse", f"p worse{many}")


def _name(metric: GateMetric) -> Cell:
    name = metric.name if metric.name == metric.name_b else f"{metric.name} / {metric.name_b}"
    return Cell(f"{name}{unit_in_name(metric.unit)}", remark=metric.aggregate)


def _row(name: Cell, metric: GateMetric, numbers: Numbers) -> Row:
    place = last_digit(metric)
    sides = ((metric.mean_a, metric.sd_a), (metric.mean_b, metric.sd_b))
    return Row(
        cells=[
            name,
            number(f"{metric.n_a}, {metric.n_b}", metric.n_a),
            *(number(f"{show(mean, place)} ± {show(sd, place)}", mean) for mean, sd in sides),
            number(metric.max_drop, metric.drop.value),
            number(show(metric.limit, place), metric.limit),
            number(show(metric.room, place), metric.room),
            number(show_interval(metric.ci_room, place), metric.ci_room.low if metric.ci_room.known else None),
            number(numbers.p(metric.p_not_worse), metric.p_not_worse),
            number(numbers.p(metric.p_worse_adjusted), metric.p_worse_adjusted),
            Cell(outcome_text(metric), emphasis="good" if metric.passed else "bad"),
        ]
    )


# A metric of a gate: the mean that is checked with its interval, the other mean, and the limit.

ROW = 36


def gate_figures(gate: Gate) -> list[Figure]:
    """Return one figure for each metric with a limit and a mean to check."""
    known = [metric for metric in gate.metrics if metric.limit is not None and metric.mean_a is not None]
    return unique([_figure(metric, gate) for metric in known])


def _figure(metric: GateMetric, gate: Gate) -> Figure:
    place = last_digit(metric)
    a, b, level = clean(gate.a), clean(gate.b), show_level(1 - 2 * gate.look.alpha)
    interval = f" Bar: {level} confidence interval of the distance from the limit." if metric.ci_room.known else ""
    return Figure(
        slug=slug("gate", metric.name),
        section="gate",
        title=f"{clean(metric.name)}: {a} against the limit",
        description=(
            f"Mean of {a} {show(metric.mean_a, place)}, of {b} {show(metric.mean_b, place)}; "
            f"limit {show(metric.limit, place)} (dashed). The shaded side is worse than the limit.{interval}"
        ),
        metric=metric.name,
        spec=_chart(metric, gate),
    )


def _chart(metric: GateMetric, gate: Gate) -> dict[str, Any]:
    low, high = _interval(metric)
    ends = domain([metric.mean_a, metric.mean_b, metric.limit, low, high])
    x = quantitative(ends, axis_title(metric.name, metric.unit))
    y = {"y": rows([gate.a, gate.b])}
    worse = [ends[0], metric.limit] if metric.direction == "higher" else [metric.limit, ends[1]]
    checked = {"variant": gate.a, "mean": metric.mean_a, "low": low, "high": high, "n": metric.n_a}
    other = {"variant": gate.b, "mean": metric.mean_b, "low": None, "high": None, "n": metric.n_b}
    data: dict[str, list[dict[str, Any]]] = {
        "worse": [{"from": worse[0], "to": worse[1]}],
        "limit": [{"limit": metric.limit}],
        "means": [row for row in (checked, other) if row["mean"] is not None],
        **({"interval": [checked]} if low is not None else {}),
    }
    tooltip = tips(the_variant="experiment", mean="mean", low="CI from", high="CI to", n="runs")
    band = {"x": quantity("from", **x), "x2": {"field": "to"}}
    layers = [
        view("worse", "rect", band, style="soft", opacity=0.25),
        view("limit", "rule", {"x": quantity("limit", **x), "tooltip": tips(limit="limit")}, style="ink-line",
             strokeDash=[4, 3]),
        *([view("interval", "rule", {"x": quantity("low", **x), "x2": {"field": "high"}, **y}, style="ink",
                strokeWidth=2)] if low is not None else []),
        view("means", "point", {"x": quantity("mean", **x), **y, "tooltip": tooltip}, style="ink", shape="diamond",
             size=70, opacity=1, filled=True),
    ]  # fmt: skip
    return chart(data, layers, 2 * ROW)


def _interval(metric: GateMetric) -> tuple[float | None, float | None]:
    """Return the ends of the interval of the distance, measured from the limit on the axis of the metric."""
    low, high, limit = metric.ci_room.low, metric.ci_room.high, metric.limit
    if not metric.ci_room.known or low is None or high is None or limit is None:
        return None, None
    return (limit + low, limit + high) if metric.direction == "higher" else (limit - high, limit - low)
