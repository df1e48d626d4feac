"""Plan the edits of each file from the findings."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword

from deviate.experiment import Capture, Comparison, Draw, MainLoop, Metric, Span
from deviate.instrument.edits import Edit
from deviate.instrument.sites import SIDE

LOOP_FUNCTIONS = {"for": "__dv_loop__", "while": "__dv_while__"}


def plan_edits(
    metrics: Sequence[Metric],
    main_loop: MainLoop | None,
    draws: Sequence[Draw] = (),
    comparisons: Sequence[Comparison] = (),
    further_loops: Sequence[MainLoop] = (),
) -> dict[str, list[Edit]]:
    """Return the edits of each file; an id is the index among the metrics, the draws or the comparisons.

    Parameters
    ----------
    metrics : sequence of Metric
        All metrics of the experiment. Metrics that are not selected or that a framework reports are not wrapped.
    main_loop : MainLoop or None
        A framework's own loop (``call``) is not wrapped.
    draws : sequence of Draw
        All draws of the experiment.
    comparisons : sequence of Comparison
        Each of its two sides is wrapped.
    further_loops : sequence of MainLoop
        Those of other scripts that the command starts.
    """
    edits: dict[str, list[Edit]] = {}
    for index, metric in enumerate(metrics):
        for capture in (metric.capture, *metric.further) if metric.selected else ():
            edit = capture_edit(index, capture)
            if edit is not None:
                edits.setdefault(metric.file, []).append(edit)
    for loop in (main_loop, *further_loops):
        if loop is not None and loop.span is not None and loop.kind in LOOP_FUNCTIONS:
            edits.setdefault(loop.file, []).append(_header_edit(loop, loop.span))
    for index, draw in enumerate(draws):
        if draw.span is not None:
            edits.setdefault(draw.file, []).append(Edit(span=draw.span, before=f"__dv_draw__({index}, "))
    for index, comparison in enumerate(comparisons):
        edits.setdefault(comparison.file, []).extend(
            Edit(span=span, before=f"{SIDE}({index}, {number}, ")
            for number, span in enumerate((comparison.left, comparison.right))
        )
    return edits


def _header_edit(loop: MainLoop, span: Span) -> Edit:
    """Return the wrap of a header; a ``while`` loop that counts by hand shows what it counts."""
    counts = loop.kind == "while" and loop.variable.isidentifier() and not iskeyword(loop.variable)
    return Edit(
        span=span,
        before=f"{LOOP_FUNCTIONS[loop.kind]}(",
        after=f", lambda: {loop.variable})" if counts else ")",
    )


def capture_edit(index: int, capture: Capture) -> Edit | None:
    """Return the wrap that records a value of the metric with the id `index`, None where nothing is to be wrapped."""
    if capture.span is None:
        return None
    # A name is passed as a lambda: should it be unbound after all, the runtime meets the error, not the training.
    label = f", lambda: {capture.label}" if capture.label else ""
    match capture.how:
        case "value":
            return Edit(span=capture.span, before=f"__dv__({index}, ", after=f"{label})")
        case "mapping":
            return Edit(span=capture.span, before=f"__dv_map__({index}, ", after=f"{label})")
        case "beside":
            after = f", lambda: {capture.beside}{label})"
            return Edit(span=capture.span, before=f"__dv_beside__({index}, ", after=after)
        case "framework":
            return None
