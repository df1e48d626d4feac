"""Answers for the reproducibility checklists of conferences, as far as the document knows them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from deviate.experiment import IMPORTED
from deviate.measure.spread import spread
from deviate.report.inputs import ReportInputs
from deviate.report.methods import aggregates, hardware, metric_names, software, source_text
from deviate.report.parts import Answer, Reproduce, VariantReport
from deviate.report.shown import last_place, show, show_level, show_seconds
from deviate.report.timeline import lay_out
from deviate.report.words import ENDED, code, count, joined

#: Who asks, in short: the NeurIPS paper checklist [1]_ by the number of its question, and the machine-learning
#: reproducibility checklist [2]_.
#:
#: .. [1] NeurIPS Paper Checklist, 2024, questions 4 to 8.
#: .. [2] J. Pineau et al., "Improving reproducibility in machine learning research", JMLR 22(164), 2021.
_NEURIPS = "NeurIPS {}"
_PINEAU = "ML reproducibility checklist"

_UNKNOWN = "Not known to Deviate."


def checklist(inputs: ReportInputs, variants: Sequence[VariantReport], reproduce: Reproduce) -> list[Answer]:
    """Answer what can be answered; what only the authors know is said to be unknown.

    Parameters
    ----------
    inputs : ReportInputs
        What was asked for.
    variants : sequence of VariantReport
        What was measured.
    reproduce : Reproduce
        Versions and machine.
    """
    asked = (
        ("How many training runs are the results of?", (_PINEAU,), _number(variants)),
        ("Which number of each run is reported?", (_PINEAU, _NEURIPS.format(6)), " ".join(aggregates(variants))),
        ("Are there error bars, and of what?", (_NEURIPS.format(7), _PINEAU), _error_bars(variants, inputs.level)),
        ("Which factors of variability do they capture?", (_NEURIPS.format(7),), _captured(variants)),
        ("How were they computed, and what is assumed?", (_NEURIPS.format(7),), _computed(variants, inputs.level)),
        ("Which runs were left out, and why?", (_PINEAU,), _left_out(variants)),
        ("Which seeds were used?", (_NEURIPS.format(4),), _seeds(inputs, variants)),
        ("Which code was run, and with which command?", (_NEURIPS.format(4), _PINEAU), _code(inputs, reproduce)),
        ("Which software does it depend on?", (_PINEAU,), _sentence(software(reproduce))),
        ("Which machines were used?", (_NEURIPS.format(8), _PINEAU), _sentence(hardware(reproduce, variants))),
        ("How long does a run take, and all of them?", (_NEURIPS.format(8), _PINEAU), _time(variants)),
        ("Did the project need more runs than those reported?", (_NEURIPS.format(8),), ""),
        ("How were hyper-parameters chosen?", (_NEURIPS.format(6), _PINEAU), ""),
    )
    return [
        Answer(question=question, asked_by=list(by), answer=answer or _UNKNOWN, known=bool(answer))
        for question, by, answer in asked
    ]


def _sentence(text: str) -> str:
    return f"{text}." if text else ""


def _number(variants: Sequence[VariantReport]) -> str:
    told = [
        f"{variant.variant} ({variant.factors.gloss}): {variant.completed} completed of {variant.planned} planned"
        for variant in variants
    ]
    return f"{'; '.join(told)}." if told else ""


def _several(variants: Sequence[VariantReport]) -> bool:
    return any(metric.n > 1 for variant in variants for metric in variant.metrics)


def _error_bars(variants: Sequence[VariantReport], level: float) -> str:
    if not _several(variants):
        return ""
    return (
        "Standard deviation over runs (of a single run, not of the mean), and "
        f"{show_level(level)} confidence intervals of the mean and of the standard deviation."
    )


def _captured(variants: Sequence[VariantReport]) -> str:
    told = []
    for variant in variants:
        if variant.variant == IMPORTED or not variant.completed:
            continue
        varied = variant.factors.varied
        told.append(f"{variant.variant}: {joined(varied) or 'none'}")
    return f"{'; '.join(told)}." if told else ""


def _computed(variants: Sequence[VariantReport], level: float) -> str:
    if not _several(variants):
        return ""
    return (
        "Each run counts as one independent value. Mean: Student's t interval; standard deviation: chi-square "
        f"interval; both at {show_level(level)} and exact for normal values. Bootstrap intervals, which assume no "
        "distribution, are in the full report where there are enough runs."
    )


def _left_out(variants: Sequence[VariantReport]) -> str:
    """Group runs by why they are left out; metrics are named only where it is not so in all of them."""
    if not any(variant.runs for variant in variants):
        return ""
    found: dict[str, list[str]] = {}
    for variant in variants:
        for run in variant.runs:
            if run.status != "completed":
                found.setdefault(f"the run {ENDED[run.status]}", []).append(run.name)
    for variant in variants:
        reported = {metric.name for metric in variant.metrics if metric.kind != "speed"}
        for index, reasons in _excluded(variant).items():
            rest = reported
            for reason, names in reasons.items():
                found.setdefault(f"{reason}, {_where(names, reported, rest)}", []).append(f"{variant.variant}-{index}")
                rest = rest - set(names)
    told = "; ".join(f"{reason} ({joined(runs)})" for reason, runs in found.items()) or "none"
    return f"{told[0].upper()}{told[1:]}."


def _excluded(variant: VariantReport) -> dict[int, dict[str, list[str]]]:
    """Return the metrics that each completed run is left out of, by run and reason; that it is weak comes last."""
    lost = [(left, metric.name) for metric in variant.metrics for left in metric.excluded if left.status == "completed"]
    found: dict[int, dict[str, list[str]]] = {}
    for left, name in sorted(lost, key=lambda pair: (pair[0].run, pair[0].weak)):
        found.setdefault(left.run, {}).setdefault(left.reason, []).append(name)
    return found


def _where(names: Sequence[str], reported: AbstractSet[str], rest: AbstractSet[str]) -> str:
    """Name metrics, unless they are all of those `reported`, or the `rest` of them."""
    if rest and len(reported) > 1 and rest <= set(names):
        return "in all metrics" if rest == reported else "in all other metrics"
    told = [name for name in dict.fromkeys(names) if name in reported]
    return f"in {metric_names(told or names)}"


def _seeds(inputs: ReportInputs, variants: Sequence[VariantReport]) -> str:
    if not any(run.seeds for variant in variants for run in variant.runs):
        return ""
    return (
        f"All derive from the experiment's seed {inputs.experiment.seed}; the seed of each factor in each run is in "
        "run.json and in the JSON report."
    )


def _code(inputs: ReportInputs, reproduce: Reproduce) -> str:
    if inputs.experiment.imported:
        return ""
    source = source_text(inputs, reproduce)
    return f"{code(reproduce.command)}{f'; {source}' if source else ''}."


def _time(variants: Sequence[VariantReport]) -> str:
    took = {
        variant.variant: [run.seconds for run in variant.runs if run.status == "completed" and run.seconds is not None]
        for variant in variants
    }
    each = "; ".join(f"{name}: {_mean_seconds(seconds)} s a run" for name, seconds in took.items() if seconds)
    return f"{each}. {_added_up(variants)}{_side_by_side(variants)}." if each else ""


def _mean_seconds(seconds: Sequence[float]) -> str:
    found = spread(seconds)
    place = last_place(found.sd) if found.sd else None
    return show(found.mean, place) + (f" ± {show(found.sd, place)}" if found.sd is not None else "")


def _added_up(variants: Sequence[VariantReport]) -> str:
    timed = [run for variant in variants for run in variant.runs if run.seconds is not None]
    total = show_seconds(sum(run.seconds or 0.0 for run in timed))
    failed = "" if all(run.status == "completed" for run in timed) else ", those of runs that did not complete included"
    if len(timed) == 1:
        return f"1 run was timed: {total}"
    return f"The durations of {count(len(timed), 'run')} add up to {total}{failed}"


def _side_by_side(variants: Sequence[VariantReport]) -> str:
    """Say how long it took where runs went on side by side, and the start of each is known."""
    timeline = lay_out(variants)
    slots = len({each.lane for each in timeline.slices})
    if timeline.unknown or slots < 2:
        return ""
    pauses = ", pauses left out" if timeline.pauses else ""
    length = show_seconds(timeline.length_s)
    return f"; up to {slots} at a time, they took {length} from the first start to the last end{pauses}"
