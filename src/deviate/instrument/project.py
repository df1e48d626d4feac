"""Instrument all files of a project that report something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deviate.experiment import MainLoop, Metric
from deviate.instrument.diff import unified_diff
from deviate.instrument.edits import Instrumented
from deviate.instrument.overlay import instrument_source
from deviate.instrument.plan import plan_edits


def instrument_project(root: Path, metrics: Sequence[Metric], main_loop: MainLoop | None) -> dict[str, Instrumented]:
    """Return the instrumented text of each file that reports a metric or holds the main loop; nothing is written.

    Parameters
    ----------
    root : Path
        The project, or a copy of it.
    metrics : sequence of Metric
        A metric's id is its place.
    main_loop : MainLoop or None
        Its header is wrapped too.
    """
    edits = plan_edits(metrics, main_loop)
    return {file: instrument_source((root / file).read_bytes(), listed) for file, listed in sorted(edits.items())}


def skipped_edits(instrumented: Mapping[str, Instrumented]) -> list[str]:
    """Say which values are not recorded because their place could not be wrapped, and why."""
    lines: dict[tuple[str, str], list[int]] = {}
    for file, result in instrumented.items():
        for skipped in result.skipped:
            lines.setdefault((file, skipped.message), []).append(skipped.edit.span.line)
    return [
        f"not recorded: {file}, line {', '.join(map(str, sorted(set(found))))}: {message}"
        for (file, message), found in lines.items()
    ]


def project_diff(root: Path, instrumented: Mapping[str, Instrumented]) -> Iterable[str]:
    """Yield the difference that instrumenting makes to each file, in unified form."""
    for file, result in instrumented.items():
        before = (root / file).read_bytes().decode(result.encoding)
        yield unified_diff(file, before, result.text)
