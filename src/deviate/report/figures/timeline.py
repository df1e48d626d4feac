"""When the runs went on: a bar a run, a row a slot."""

from __future__ import annotations

from typing import Any

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.sources import Timeline
from deviate.report.escape import clean
from deviate.report.figures.charts import chart, coloured, only, quantity, rows, tips, view
from deviate.report.figures.figure import Figure
from deviate.report.numbers import show_seconds
from deviate.report.words import count

ROW = 26

#: Units of the axis: from how many seconds on, and how many seconds it has.
_UNITS = ((3 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "s"))


def timeline_figures(facts: ExperimentFacts) -> list[Figure]:
    """Return the figure of the slots; none where runs took turns in one, or none tells when it started."""
    timeline = facts.timeline
    if len({each.lane for each in timeline.slices}) < 2:
        return []
    order = [variant.variant for variant in facts.variants]
    return [
        Figure(
            slug="timeline",
            section="time",
            title="Runs over time",
            description=_description(timeline),
            spec=_chart(timeline, order),
        )
    ]


def _chart(timeline: Timeline, order: list[str]) -> dict[str, Any]:
    unit, name = next((size, name) for least, size, name in _UNITS if timeline.length_s >= least)
    data = [
        {
            "run": each.run,
            "variant": each.variant,
            "status": each.status,
            "lane": each.lane,
            "start": round(each.start_s / unit, 4),
            "end": round(each.end_s / unit, 4),
            "took": show_seconds(each.end_s - each.start_s),
        }
        for each in timeline.slices
    ]
    lanes = list(dict.fromkeys(each.lane for each in timeline.slices))
    shown = [variant for variant in order if any(each.variant == variant for each in timeline.slices)]
    scale = {"domain": [0, round(timeline.length_s / unit, 4) or 1], "nice": False}
    at = {
        "x": quantity("start", title=f"time since the first start ({name})", scale=scale),
        "x2": {"field": "end"},
        "y": rows(lanes, "lane"),
        "color": coloured(order, shown, "square"),
        "tooltip": tips(the_run="run", the_status="it", the_took="after"),
    }
    done = "datum.status == 'completed'"
    layers = {
        True: view("runs", "bar", at, transform=[only(done)], height=14, opacity=0.8),
        False: view(
            "runs",
            "bar",
            at,
            transform=[only(f"!({done})")],
            height=13,
            filled=False,
            strokeWidth=1.5,
            strokeDash=[3, 2],
        ),
    }
    # A layer without rows makes Vega warn of an axis without ends.
    outcomes = {each.status == "completed" for each in timeline.slices}
    return chart({"runs": data}, [layer for ended, layer in layers.items() if ended in outcomes], ROW * len(lanes))


def _description(timeline: Timeline) -> str:
    lanes = len({each.lane for each in timeline.slices})
    sentences = [
        f"{count(len(timeline.slices), 'run')} in {count(lanes, 'slot')}, {show_seconds(timeline.length_s)} in all."
    ]
    unfinished = [clean(each.run) for each in timeline.slices if each.status != "completed"]
    if unfinished:
        sentences.append(f"{count(len(unfinished), 'run')} drawn as an outline did not complete.")
    if timeline.pauses:
        pauses = count(timeline.pauses, "pause")
        sentences.append(f"{pauses} without any run left out, {show_seconds(timeline.paused_s)} together.")
    if timeline.unknown:
        sentences.append(f"{count(timeline.unknown, 'run')} not shown: start or duration is not known.")
    return " ".join(sentences)
