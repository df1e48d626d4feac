"""Instrument all files of a project that report something."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deviate.analyse.findings import Findings
from deviate.experiment import Comparison, Draw, Experiment, MainLoop, Metric, further_loops
from deviate.instrument.edits import FileCode, Instrumented
from deviate.instrument.overlay import instrument_source
from deviate.instrument.plan import plan_edits
from deviate.instrument.sites import DRAW, SIDE

METRIC_SKIPPED = "not recorded"
DRAW_SKIPPED = "draws with the code around it"


def instrument_project(
    root: Path,
    metrics: Sequence[Metric],
    main_loop: MainLoop | None,
    draws: Sequence[Draw] = (),
    comparisons: Sequence[Comparison] = (),
    further_loops: Sequence[MainLoop] = (),
) -> dict[str, Instrumented]:
    """Return the instrumented text of each file with a metric, the main loop, a draw or a comparison in it.

    Nothing is written.

    Parameters
    ----------
    root : Path
        The project, or a copy of it.
    metrics : sequence of Metric
        The id of a metric is its index.
    main_loop : MainLoop or None
        Its header is wrapped too.
    draws : sequence of Draw
        Calls that draw random numbers; the id of a draw is its index.
    comparisons : sequence of Comparison
        Comparisons of predictions with targets; the id of one is its index.
    further_loops : sequence of MainLoop
        Those of other scripts that the command starts; their headers are wrapped too.
    """
    edits = plan_edits(metrics, main_loop, draws, comparisons, further_loops)
    return {
        file: instrument_source((root / file).read_bytes(), file_edits) for file, file_edits in sorted(edits.items())
    }


def instrument_experiment(root: Path, experiment: Experiment) -> dict[str, Instrumented]:
    """Return the instrumented files of the copy of the project in `root` that an experiment was made with."""
    found = experiment.metrics, experiment.main_loop, experiment.draws, experiment.comparisons
    return instrument_project(root, *found, experiment.further_loops)


def file_codes(instrumented: Mapping[str, Instrumented]) -> dict[str, FileCode]:
    """Return the files in whose place Python is given another text."""
    return {file: result.code for file, result in instrumented.items() if result.done}


def skipped_edits(instrumented: Mapping[str, Instrumented]) -> list[str]:
    """List the values that are not recorded and the draws that are not separated, each with the reason."""
    lines: dict[tuple[str, str, str], list[int]] = {}
    for file, result in instrumented.items():
        for skipped in result.skipped:
            if skipped.edit.function == SIDE:
                continue  # where no comparison is seen, the report of predictions says so
            effect = DRAW_SKIPPED if skipped.edit.function == DRAW else METRIC_SKIPPED
            lines.setdefault((effect, file, skipped.message), []).append(skipped.edit.span.line)
    return [
        f"{effect}: {file}, line {', '.join(map(str, sorted(set(numbers))))}: {message}"
        for (effect, file, message), numbers in lines.items()
    ]


def project_diff(root: Path, instrumented: Mapping[str, Instrumented]) -> Iterable[str]:
    """Yield the difference that instrumenting makes to each file, in unified form."""
    for file, result in instrumented.items():
        before = (root / file).read_bytes().decode(result.encoding)
        yield unified_diff(file, before, result.text)


def show_edits(project: Path, findings: Findings) -> Iterable[str]:
    """Yield the difference that instrumenting makes to each file of the project."""
    selected = [metric for metric in findings.metrics if metric.selected]
    found = selected, findings.main_loop, findings.draws, findings.comparisons
    loops = further_loops(findings.main_loop, findings.scripts)
    return project_diff(project, instrument_project(project, *found, loops))


def unified_diff(path: str, before: str, after: str) -> str:
    """Return the difference between two texts of the file `path`, in unified form; empty where there is none."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Split at newlines only: a form feed stays within its line."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([tail] if (tail := text.split("\n")[-1]) else [])
