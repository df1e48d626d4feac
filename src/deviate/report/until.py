"""Why runs ended, where ``--until`` decided how many are made."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deviate.contrast.stopping import Look, look
from deviate.experiment import Until
from deviate.measure.fixed_width import EXTRA_RUNS
from deviate.report.parts import MetricReport, Stopped, Warned
from deviate.report.shown import last_place, show, show_interval, show_level
from deviate.report.words import count

#: Significant digits of a half-width.
WIDTH_DIGITS = 3


def stopped_by(until: Until | None, metrics: list[MetricReport], made: int) -> Stopped | None:
    """Say how the runs of a variant stand to the criterion; None without one, or without its metric.

    Parameters
    ----------
    until : Until or None
        The criterion.
    metrics : list of MetricReport
        Those of the variant.
    made : int
        Runs of the variant that have ended, however.
    """
    metric = next((each for each in metrics if until and each.name == until.metric), None)
    if until is None or metric is None:
        return None
    found = look(metric.values, until)
    return Stopped(
        criterion=until.text,
        of=until.of,
        met=found.met,
        n=found.n,
        half_width=found.half_width,
        wanted=found.wanted,
        relative=until.of == "sd",
        interval=found.interval,
        expected=found.expected,
        sentences=list(_sentences(found, until, metric, made)),
    )


def with_stopped(metrics: list[MetricReport], until: Until | None, stopped: Stopped | None) -> list[MetricReport]:
    """Put the interval that is true after stopping in the place of that of a fixed number of runs."""
    if until is None or stopped is None:
        return metrics
    return [_replaced(metric, until, stopped) if metric.name == until.metric else metric for metric in metrics]


def _replaced(metric: MetricReport, until: Until, stopped: Stopped) -> MetricReport:
    known = metric.ci_sd if until.of == "sd" else metric.ci_mean
    if known.level != until.level:
        return metric
    if until.of == "sd":
        return msgspec.structs.replace(metric, ci_sd=stopped.interval)
    return msgspec.structs.replace(metric, ci_mean=stopped.interval)


def progress_line(variant: str, found: Look, until: Until) -> str:
    """Say in a line how far the runs of a variant are.

    Examples
    --------
    >>> until = Until(metric="val acc", width=0.6, least=5, most=30)
    >>> progress_line("algo+impl", look([90.0, 91.0, 90.5, 89.5, 90.2], until), until)
    'algo+impl: val acc ± 0.695 after 5 runs, ± 0.6 wanted; about 8 runs in all'
    """
    about = f"{variant}: {until.metric}{' sd' if until.of == 'sd' else ''}"
    runs = f"after {count(found.n, 'run')}"
    if found.met:
        return f"{about} {_width(found.half_width, until)} {runs}: enough"
    if found.half_width is None:
        why = f"all {found.n} values are equal" if found.identical else found.interval.reason
        return f"{about}: no interval {runs} ({why}), {_width(found.wanted, until)} wanted"
    narrow = f"{about} {_width(found.half_width, until)} {runs}"
    if until.of == "mean" and found.half_width <= found.wanted:
        return f"{narrow}, narrow enough; {found.expected} runs keep the level"
    rest = "" if found.expected is None else f"; about {count(found.expected, 'run')} in all"
    allowed = f" ({until.most} allowed)" if found.expected is not None and found.expected > until.most else ""
    return f"{narrow}, {_width(found.wanted, until)} wanted{rest}{allowed}"


def _sentences(found: Look, until: Until, metric: MetricReport, made: int) -> list[str]:
    what = f"the {'SD' if until.of == 'sd' else 'mean'} of {until.metric}"
    wanted = _width(found.wanted, until, metric.unit)
    if found.met:
        return [
            f"Enough after {count(found.n, 'run')} (--until '{until.text}'): {what} is {_known(found, until, metric)}."
        ]
    if found.half_width is None:
        why = "all gave exactly the same value" if found.identical else found.interval.reason
        return [f"Not met after {count(made, 'run')} (--until '{until.text}'): {why}, so there is no interval."]
    more = "" if found.expected is None else f"; about {found.expected} runs would be enough"
    ended = f" (--max {until.most})" if made >= until.most else ""
    reached = _width(found.half_width, until, metric.unit)
    return [
        f"Not met (--until '{until.text}'): after {count(found.n, 'run')}{ended} {what} is "
        f"{_known(found, until, metric)}, which is {reached}; {wanted} was wanted{more}."
    ]


def _known(found: Look, until: Until, metric: MetricReport) -> str:
    """Give the number with its interval."""
    spread = metric.spread
    place = last_place(spread.sd)
    # The interval of a mean is narrower than the SD; the digits of its ends follow the width.
    place = place if until.of == "sd" or not found.wanted else last_place(min(found.wanted, spread.sd or found.wanted))
    value = show(spread.sd if until.of == "sd" else spread.mean, place)
    unit = f" {metric.unit}" if metric.unit else ""
    return f"{value}{unit}, {show_level(until.level)} CI {show_interval(found.interval, place)}"


def until_remarks(until: Until | None, stopped: Stopped | None, variant: str) -> Iterable[Warned]:
    """Say which interval keeps its level after runs were stopped by looking at them, and which do not."""
    if until is None or stopped is None or stopped.half_width is None:
        return
    if until.of == "sd":
        message = (
            f"The interval of the SD of {until.metric} is the wider of the chi-square interval and Bonett's, which "
            "allows for heavy tails: with values far from normal it still covers less than it says."
        )
    else:
        message = (
            f"How many runs were made depends on {until.metric}: the interval of its mean allows for that, and covers "
            "less than it says only where values are clearly skewed. Its SD is likely to look small, and the intervals "
            "of the SD and of the bootstrap are as for a fixed number of runs."
        )
    yield Warned(slug="stopped-by-rule", message=message, severity="note", variant=variant)


def until_method(until: Until | None) -> Iterable[str]:
    """Say for a paper what decided how many runs were made."""
    if until is None:
        return
    level, width = show_level(until.level), _asked(until)
    if until.of == "sd":
        yield (
            f"Runs were made until the SD of {until.metric} was known to {width} at {level} confidence, at most "
            f"{until.most} of each variant; its interval is the wider of the chi-square interval and Bonett's."
        )
        return
    yield (
        f"Runs were made until the mean of {until.metric} was known to {width} at {level} confidence, at most "
        f"{until.most} of each variant: {EXTRA_RUNS} beyond the first look, from {until.least} runs on, at which the t "
        "interval was narrow enough (fixed-width sequential procedure); its interval is the one of that procedure."
    )


def _asked(until: Until) -> str:
    return f"± {100 * until.width:.10g}%" if until.relative else f"± {until.width:g}"


def _width(width: float | None, until: Until, unit: str = "") -> str:
    if width is None:
        return "unknown"
    if until.of == "sd":
        return f"± {100 * width:.{WIDTH_DIGITS}g}%"
    return f"± {width:.{WIDTH_DIGITS}g}{f' {unit}' if unit else ''}"
