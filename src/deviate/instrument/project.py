"""Instrument all files of a project that report something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deviate.experiment import Draw, MainLoop, Metric
from deviate.instrument.diff import unified_diff
from deviate.instrument.edits import Instrumented
from deviate.instrument.overlay import instrument_source
from deviate.instrument.plan import plan_edits
from deviate.instrument.sites import DRAW

METRIC_SKIPPED = "not recorded"
DRAW_SKIPPED = "draws with the code around it"


def instrument_project(
    root: Path, metrics: Sequence[Metric], main_loop: MainLoop | None, draws: Sequence[Draw] = ()
) -> dict[str, Instrumented]:
    """Return the instrumented text of each file with a metric, the main loop or a draw in it; nothing is written.

    Parameters
    ----------
    root : Path
        The project, or a copy of it.
    metrics : sequence of Metric
        A metric's id is its place.
    main_loop : MainLoop or None
        Its header is wrapped too.
    draws : sequence of Draw
        Calls that draw random numbers; a draw's id is its place.
    """
    edits = plan_edits(metrics, main_loop, draws)
    return {file: instrument_source((root / file).read_bytes(), listed) for file, listed in sorted(edits.items())}


def skipped_edits(instrumented: Mapping[str, Instrumented]) -> list[str]:
    """Say which values are not recorded, and which draws not told apart, because they could not be wrapped, and why."""
    lines: dict[tuple[str, str, str], list[int]] = {}
    for file, result in instrumented.items():
        for skipped in result.skipped:
            what = DRAW_SKIPPED if skipped.edit.function == DRAW else METRIC_SKIPPED
            lines.setdefault((what, file, skipped.message), []).append(skipped.edit.span.line)
    return [
        f"{what}: {file}, line {', '.join(map(str, sorted(set(found))))}: {message}"
        for (what, file, message), found in lines.items()
    ]


def project_diff(root: Path, instrumented: Mapping[str, Instrumented]) -> Iterable[str]:
    """Yield the difference that instrumenting makes to each file, in unified form."""
    for file, result in instrumented.items():
        before = (root / file).read_bytes().decode(result.encoding)
        yield unified_diff(file, before, result.text)
