"""Answers for the reproducibility checklists of conferences, as far as the facts hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from deviate.core.experiment import IMPORTED
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.run import Timeline
from deviate.facts.variant import VariantFacts
from deviate.report.numbers import last_place, mean_and_sd, show_level, show_seconds
from deviate.report.page import Cell, Fold, Latex, Row, Section, Sentences, Table
from deviate.report.topics.curves import Charts
from deviate.report.topics.metrics import columns
from deviate.report.topics.reproduce import aggregates, hardware, metric_names, sd_intervals, software, source_text
from deviate.report.topics.reproduce import methods as methods_of
from deviate.report.topics.varied import factors_of, gloss
from deviate.report.words import ENDED, code, count, joined, reproduce_text
from deviate.stats.spread import Spread

#: Who asks, in short: the NeurIPS paper checklist [1]_ by the number of its question, and the machine-learning
#: reproducibility checklist [2]_.
#:
#: .. [1] NeurIPS Paper Checklist, 2024, questions 4 to 8.
#: .. [2] J. Pineau et al., "Improving reproducibility in machine learning research", JMLR 22(164), 2021.
_NEURIPS = "NeurIPS {}"
_PINEAU = "ML reproducibility checklist"

_UNKNOWN = "Not known to Deviate."

#: A question that has an answer for each side of a comparison.
NUMBER = "How many training runs are the results of?"

#: Questions whose answers a comparison gives itself.
ERROR_BARS = "Are there error bars, and of what?"
COMPUTED = "How were they computed, and what is assumed?"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a reproducibility checklist and its answer, as far as it is known."""

    question: str
    #: Who asks: ``NeurIPS 7`` is question 7 of the NeurIPS paper checklist.
    asked_by: list[str]
    answer: str
    #: False where only the authors can answer.
    known: bool


def checklist(facts: ExperimentFacts) -> list[Answer]:
    """Answer what can be answered; what only the authors know is marked as unknown."""
    variants, level = facts.variants, facts.level
    questions = (
        (NUMBER, (_PINEAU,), _number(variants)),
        ("Which number of each run is reported?", (_PINEAU, _NEURIPS.format(6)), " ".join(aggregates(variants))),
        (ERROR_BARS, (_NEURIPS.format(7), _PINEAU), _error_bars(variants, level)),
        ("Which factors of variability do they capture?", (_NEURIPS.format(7),), _captured(variants)),
        (COMPUTED, (_NEURIPS.format(7),), _computed(variants, level)),
        ("Which runs were left out, and why?", (_PINEAU,), _left_out(variants)),
        ("Which seeds were used?", (_NEURIPS.format(4),), _seeds(facts)),
        ("Which code was run, and with which command?", (_NEURIPS.format(4), _PINEAU), _code(facts)),
        ("Which software does it depend on?", (_PINEAU,), _sentence(software(facts))),
        ("Which machines were used?", (_NEURIPS.format(8), _PINEAU), _sentence(hardware(facts))),
        ("How long does a run take, and all of them?", (_NEURIPS.format(8), _PINEAU), _time(facts)),
        ("Did the project need more runs than those reported?", (_NEURIPS.format(8),), ""),
        ("How were hyper-parameters chosen?", (_NEURIPS.format(6), _PINEAU), ""),
    )
    return [
        Answer(question=question, asked_by=list(by), answer=answer or _UNKNOWN, known=bool(answer))
        for question, by, answer in questions
    ]


def _sentence(text: str) -> str:
    return f"{text}." if text else ""


def _number(variants: Sequence[VariantFacts]) -> str:
    texts = {
        f"{variant.variant} ({gloss(variant.variant)})": f"{variant.completed} completed of {variant.planned} planned"
        for variant in variants
    }
    return f"{_by_variant(texts)}." if texts else ""


def _by_variant(texts: Mapping[str, str]) -> str:
    """Put the name before each text, unless there is one only: then no name is needed to tell it from others."""
    return next(iter(texts.values())) if len(texts) == 1 else "; ".join(f"{k}: {text}" for k, text in texts.items())


def _several(variants: Sequence[VariantFacts]) -> bool:
    return any(metric.n > 1 for variant in variants for metric in variant.metrics)


def _error_bars(variants: Sequence[VariantFacts], level: float) -> str:
    if not _several(variants):
        return ""
    return (
        "Standard deviation over runs (of a single run, not of the mean), and "
        f"{show_level(level)} confidence intervals of the mean and of the standard deviation."
    )


def _captured(variants: Sequence[VariantFacts]) -> str:
    varied = {
        variant.variant: joined(factors_of(variant).varied) or "none"
        for variant in variants
        if variant.variant != IMPORTED and variant.completed
    }
    return f"Varied between runs: {_by_variant(varied)}." if varied else ""


def _computed(variants: Sequence[VariantFacts], level: float) -> str:
    if not _several(variants):
        return ""
    metrics = [metric for variant in variants for metric in variant.metrics if metric.n > 1]
    return (
        "Each run counts as one independent value. Mean: Student's t interval, which assumes normal values; standard "
        f"deviation: {sd_intervals(metrics).removeprefix('by ')}; both at {show_level(level)}."
    )


def _left_out(variants: Sequence[VariantFacts]) -> str:
    """Group runs by why they are left out; metrics are named only where it is not so in all of them."""
    if not any(variant.runs for variant in variants):
        return ""
    runs_by_reason: dict[str, list[str]] = {}
    for variant in variants:
        for run in variant.runs:
            if run.status != "completed":
                runs_by_reason.setdefault(f"the run {ENDED[run.status]}", []).append(run.called)
    for variant in variants:
        reported = {metric.name for metric in variant.metrics if metric.kind != "speed"}
        for index, reasons in _excluded(variant).items():
            rest = reported
            for reason, names in reasons.items():
                runs_by_reason.setdefault(f"{reason}, {_where(names, reported, rest)}", []).append(
                    f"{variant.variant}-{index}"
                )
                rest = rest - set(names)
    text = "; ".join(f"{reason} ({joined(runs)})" for reason, runs in runs_by_reason.items()) or "none"
    return f"{text[0].upper()}{text[1:]}."


def _excluded(variant: VariantFacts) -> dict[int, dict[str, list[str]]]:
    """Return the metrics that each completed run is left out of, by run and reason; that it is weak comes last."""
    lost = [(left, metric.name) for metric in variant.metrics for left in metric.excluded if left.status == "completed"]
    metrics: dict[int, dict[str, list[str]]] = {}
    for left, name in sorted(lost, key=lambda pair: (pair[0].run, pair[0].weak)):
        metrics.setdefault(left.run, {}).setdefault(left.reason, []).append(name)
    return metrics


def _where(names: Sequence[str], reported: AbstractSet[str], rest: AbstractSet[str]) -> str:
    """Name metrics, unless they are all of those `reported`, or the `rest` of them."""
    if rest and len(reported) > 1 and rest <= set(names):
        return "in all metrics" if rest == reported else "in all other metrics"
    known = [name for name in dict.fromkeys(names) if name in reported]
    return f"in {metric_names(known or names)}"


def _seeds(facts: ExperimentFacts) -> str:
    if not any(run.seeds for variant in facts.variants for run in variant.runs):
        return ""
    return (
        f"The seed of each source of randomness in each run is derived from the experiment's seed "
        f"{facts.definition.seed} by SHA-256; sources that were held fixed have the same seed in all runs."
    )


def _code(facts: ExperimentFacts) -> str:
    if facts.definition.imported:
        return ""
    source = source_text(facts)
    return f"{code(reproduce_text(facts))}{f'; {source}' if source else ''}."


def _time(facts: ExperimentFacts) -> str:
    took = {variant.variant: variant.seconds for variant in facts.variants if variant.seconds}
    if not took:
        return ""
    each = _by_variant({name: f"{_mean_seconds(seconds)} s" for name, seconds in took.items()})
    what = " (mean ± SD)" if any(seconds.sd is not None for seconds in took.values()) else ""
    return f"Time per run{what}: {each}. {_added_up(facts.variants)}{_side_by_side(facts.timeline)}."


def _mean_seconds(seconds: Spread) -> str:
    place = last_place(seconds.sd) if seconds.sd else None
    return mean_and_sd(seconds.mean, seconds.sd, place)


def _added_up(variants: Sequence[VariantFacts]) -> str:
    timed = [run for variant in variants for run in variant.runs if run.seconds is not None and not run.same_as]
    total = show_seconds(sum(run.seconds or 0.0 for run in timed))
    failed = "" if all(run.status == "completed" for run in timed) else ", those of runs that did not complete included"
    if len(timed) == 1:
        return f"1 run was timed: {total}"
    return f"The durations of {count(len(timed), 'run')} add up to {total}{failed}"


def _side_by_side(timeline: Timeline) -> str:
    """Say how long it took where runs went on side by side, and the start of each is known."""
    slots = len({each.lane for each in timeline.slices})
    if timeline.unknown or slots < 2:
        return ""
    pauses = ", pauses left out" if timeline.pauses else ""
    length = show_seconds(timeline.length_s)
    return f"; up to {slots} at a time, they took {length} from the first start to the last end{pauses}"


# The answers to reproducibility checklists as a table.


def checklist_table(answers: Iterable[Answer]) -> Table:
    """Return a row for each question, with who asks it."""
    return Table(
        caption="Reproducibility checklist",
        columns=columns("question", "answer", "asked by", words=3),
        rows=[
            Row(
                cells=[
                    Cell(each.question),
                    Cell(each.answer, emphasis="plain" if each.known else "quiet"),
                    Cell(", ".join(each.asked_by)),
                ]
            )
            for each in answers
        ],
        prose=True,
    )


# For a paper: how the numbers were made, and answers to reproducibility checklists.


def _methods(facts: ExperimentFacts, about: str = "") -> Sentences:
    return Sentences(sentences=methods_of(facts), about=about)


def for_paper(facts: ExperimentFacts, tables: Sequence[Table]) -> Section:
    """Return the methods paragraph, and below it the `tables` as LaTeX and the checklist."""
    table = checklist_table(checklist(facts))
    return Section(
        slug="methods",
        title="For a paper",
        blocks=[
            _methods(facts),
            *([Latex(tables=list(tables))] if tables else []),
            Fold(title=table.caption, blocks=[table], open=False),
        ],
    )


def methods(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the methods paragraph."""
    return Section(slug="methods", blocks=[_methods(facts, "Methods.")])


def reproducibility(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the checklist."""
    return Section(slug="reproducibility", blocks=[checklist_table(checklist(facts))])
