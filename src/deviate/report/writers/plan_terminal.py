"""A plan in a terminal: the answers, then a table of what numbers of runs can show."""

from __future__ import annotations

import io

from rich.box import Box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deviate.report.escape import clean
from deviate.report.plan import TOO_MANY, Answer, Pilot, Plan
from deviate.report.shown import UNKNOWN, last_place, show, show_level, show_percent, show_seconds
from deviate.report.writers.terminal import PLAIN_WIDTH, WIDEST_TEXT

_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")

_ASCII = str.maketrans({"±": "+-", "–": "-", "·": ".", "─": "-"})


def render_plan(plan: Plan, width: int = PLAIN_WIDTH) -> str:
    """Return the plan as plain text of at most `width` columns, without colour."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={}
    )
    print_plan(plan, console)
    return stream.getvalue()


def print_plan(plan: Plan, console: Console) -> None:
    """Print the plan on a rich console."""
    with console.capture() as captured:
        for place, part in enumerate(_parts(plan)):
            if place:
                console.print()
            console.print(_narrow(part, console.width), markup=False, highlight=False, emoji=False)
    text = "\n".join(line.rstrip(" ") for line in captured.get().split("\n"))
    if console.options.ascii_only:
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
    console.file.write(text)


def _parts(plan: Plan) -> list[RenderableType]:
    answers = [Text("\n".join(clean(_answer(answer)) for answer in plan.answers))] if plan.answers else []
    pilot = [Text(clean(_pilot(plan.pilot)))] if plan.pilot else []
    notes = Text("\n".join(f"· {clean(note)}" for note in plan.notes), style="dim")
    return [*pilot, *answers, _ladder(plan), notes]


def _pilot(pilot: Pilot) -> str:
    place = last_place(pilot.sd)
    unit = f" {pilot.unit}" if pilot.unit else ""
    time = f"; a run took {show_seconds(pilot.seconds)}" if pilot.seconds is not None else ""
    what = f"{pilot.metric} ({pilot.aggregate})"
    return (
        f"Pilot {pilot.label}: {what} {show(pilot.mean, place)} ± {show(pilot.sd, place)}{unit} over {pilot.n} runs "
        f"of {pilot.variant}{time}."
    )


def _answer(answer: Answer) -> str:
    side = " a side" if answer.sides > 1 else ""
    runs = TOO_MANY if answer.runs is None else f"{answer.runs}"
    more = f" ({answer.runs_cautious})" if answer.runs_cautious is not None else ""
    hours = ""
    if answer.hours is not None:
        most = f" ({_hours(answer.hours_cautious)})" if answer.hours_cautious is not None else ""
        hours = f", {_hours(answer.hours)}{most} in all"
    return f"{answer.question[:1].upper()}{answer.question[1:]}: {runs}{more} runs{side}{hours}."


def _ladder(plan: Plan) -> Table:
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style="dim")
    unit = f" ({plan.unit})" if plan.unit else ""
    level, power = show_level(1 - plan.alpha), show_percent(plan.power)
    table.add_column("runs\na side", justify="right", header_style="dim")
    table.add_column(f"{level} CI of\na mean{unit}", justify="right", header_style="dim")
    table.add_column(f"{level} CI of an SD,\nas multiples", justify="right", header_style="dim")
    table.add_column(f"difference shown\nwith power {power}", justify="right", header_style="dim")
    table.add_column("SD ratio\nshown", justify="right", header_style="dim")
    if plan.seconds is not None:
        table.add_column("both\nsides", justify="right", header_style="dim")
    for rung in plan.ladder:
        ratio = UNKNOWN if rung.detectable_sd_ratio is None else f"{rung.detectable_sd_ratio:.2g}"
        row = [
            str(rung.runs),
            f"± {_two_digits(rung.mean_half_width)}",
            f"{rung.sd_low:.2f}–{rung.sd_high:.2f}",
            _two_digits(rung.detectable_difference),
            ratio,
        ]
        table.add_row(*row, *([_hours(rung.hours)] if plan.seconds is not None else []))
    return table


def _two_digits(value: float) -> str:
    return show(value, last_place(value))


def _hours(hours: float | None) -> str:
    if hours is None:
        return UNKNOWN
    return f"{hours:,.1f} h" if hours >= 1 else show_seconds(3600 * hours)


def _narrow(content: RenderableType, width: int) -> RenderableType:
    return Padding(content, (0, max(0, width - WIDEST_TEXT), 0, 0), expand=False)
