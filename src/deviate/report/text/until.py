"""Why runs ended, where ``--until`` decided how many are made."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.contrast.stopping import Look
from deviate.experiment import Until
from deviate.inference.until import Stopped
from deviate.measure.fixed_width import EXTRA_RUNS
from deviate.report.numbers import last_place, show, show_interval, show_level
from deviate.report.text.caveat import Caveat
from deviate.report.text.words import count

#: Significant digits of a half-width.
WIDTH_DIGITS = 3


def progress_line(variant: str, look: Look, until: Until) -> str:
    """Say in a line how far the runs of a variant are.

    Examples
    --------
    >>> from deviate.contrast.stopping import look
    >>> until = Until(metric="val acc", width=0.6, least=5, most=30)
    >>> progress_line("algo+impl", look([90.0, 91.0, 90.5, 89.5, 90.2], until), until)
    'algo+impl: val acc ± 0.695 after 5 runs, ± 0.6 wanted; about 8 runs in all'
    """
    about = f"{variant}: {until.metric}{' sd' if until.of == 'sd' else ''}"
    runs = f"after {count(look.n, 'run')}"
    if look.met:
        return f"{about} {_width(look.half_width, until.of)} {runs}: enough"
    if look.half_width is None:
        why = f"all {look.n} values are equal" if look.identical else look.interval.reason
        return f"{about}: no interval {runs} ({why}), {_width(look.wanted, until.of)} wanted"
    narrow = f"{about} {_width(look.half_width, until.of)} {runs}"
    if until.of == "mean" and look.half_width <= look.wanted:
        return f"{narrow}, narrow enough; {look.expected} runs keep the level"
    rest = "" if look.expected is None else f"; about {count(look.expected, 'run')} in all"
    allowed = f" ({until.most} allowed)" if look.expected is not None and look.expected > until.most else ""
    return f"{narrow}, {_width(look.wanted, until.of)} wanted{rest}{allowed}"


def until_sentences(stopped: Stopped | None) -> list[str]:
    """Say whether there were enough runs; nothing where the user decided their number."""
    if stopped is None:
        return []
    what = f"the {'SD' if stopped.of == 'sd' else 'mean'} of {stopped.metric}"
    criterion = f"(--until '{stopped.criterion}')"
    if stopped.met:
        return [f"Enough after {count(stopped.n, 'run')} {criterion}: {what} is {_known(stopped)}."]
    if stopped.half_width is None:
        why = "all gave exactly the same value" if stopped.identical else stopped.interval.reason
        return [f"Not met after {count(stopped.made, 'run')} {criterion}: {why}, so there is no interval."]
    more = "" if stopped.expected is None else f"; about {stopped.expected} runs would be enough"
    ended = f" (--max {stopped.most})" if stopped.made >= stopped.most else ""
    reached, wanted = (_width(width, stopped.of, stopped.unit) for width in (stopped.half_width, stopped.wanted))
    return [
        f"Not met {criterion}: after {count(stopped.n, 'run')}{ended} {what} is {_known(stopped)}, which is {reached}; "
        f"{wanted} was wanted{more}."
    ]


def _known(stopped: Stopped) -> str:
    """Give the number with its interval."""
    place = last_place(stopped.sd)
    # The interval of a mean is narrower than the SD; the digits of its ends follow the width.
    if stopped.of == "mean" and stopped.wanted:
        place = last_place(min(stopped.wanted, stopped.sd or stopped.wanted))
    unit = f" {stopped.unit}" if stopped.unit else ""
    interval = show_interval(stopped.interval, place)
    return f"{show(stopped.value, place)}{unit}, {show_level(stopped.interval.level)} CI {interval}"


def until_caveats(until: Until | None, stopped: Stopped | None, variant: str) -> Iterable[Caveat]:
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
    yield Caveat(slug="stopped-by-rule", message=message, severity="note", variant=variant)


def until_method(until: Until | None) -> Iterable[str]:
    """Say for a paper what decided how many runs were made."""
    if until is None:
        return
    level = show_level(until.level)
    width = f"± {100 * until.width:.10g}%" if until.relative else f"± {until.width:g}"
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


def _width(width: float | None, of: str, unit: str = "") -> str:
    if width is None:
        return "unknown"
    if of == "sd":
        return f"± {100 * width:.{WIDTH_DIGITS}g}%"
    return f"± {width:.{WIDTH_DIGITS}g}{f' {unit}' if unit else ''}"
