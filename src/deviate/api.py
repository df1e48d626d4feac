"""Deviate from Python: run an experiment, load one, take its tables into pandas."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deviate import pipeline
from deviate.audit import audit as make_audit
from deviate.comparison import compare as compare_sides
from deviate.contrast.multiplicity import DEFAULT_CORRECTION, Correction
from deviate.contrast.power import DEFAULT_ALPHA
from deviate.gate import check as check_gate
from deviate.gate import parse_drop
from deviate.planning import plan as make_plan
from deviate.replicate.workspace import Workspace
from deviate.report.comparison.inputs import Asked, Pairing
from deviate.report.gate_parts import Drop, GateAsked
from deviate.report.plan import PlanAsked
from deviate.request import DEFAULT_RUNS, Request
from deviate.stored import StoredExperiment as StoredExperiment
from deviate.target import find_workspace
from deviate.trial import DEFAULT_LIMIT

if TYPE_CHECKING:
    from deviate.audited import Audit
    from deviate.experiment import Direction
    from deviate.report.comparison.parts import Comparison
    from deviate.report.gate_parts import Gate
    from deviate.report.plan import Plan


def run(command: Sequence[str] | str, n: int = DEFAULT_RUNS, **options: Any) -> StoredExperiment:
    """Train `n` times and return the experiment, as ``deviate run`` does.

    Parameters
    ----------
    command : str or sequence of str
        What one types to train; a string is split as a shell splits words.
    n : int, optional
        Runs of each variant, those already done counted in.
    **options
        Fields of `deviate.request.Request`, such as ``variants=("control",)`` or ``jobs=2``.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    return StoredExperiment(pipeline.run(Request(command=words, runs=n, **options)))


def audit(command: Sequence[str] | str, *, limit: float = DEFAULT_LIMIT, quick: bool = False, **options: Any) -> Audit:
    """Say which sources of nondeterminism a command has and what pins them, as ``deviate audit`` does.

    Parameters
    ----------
    command : str or sequence of str
        What one types to train; a string is split as a shell splits words.
    limit : float, optional
        Seconds after which a probe is ended.
    quick : bool, optional
        Look at the program as it is only.
    **options
        Fields of `deviate.request.Request`, such as ``project``.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    return make_audit(Request(command=words, **options), limit, quick=quick)


def load(name: str, *, project: str | Path | None = None) -> StoredExperiment:
    """Return the experiment `name` of the project one stands in, or of `project`.

    Raises
    ------
    UnknownExperiment
        If there is none of that name.
    """
    return StoredExperiment(_workspace(project).find_experiment(name))


def compare(
    *names: str | StoredExperiment,
    alpha: float = DEFAULT_ALPHA,
    correction: Correction = DEFAULT_CORRECTION,
    pairing: Pairing = "auto",
    metrics: str | Sequence[str] = (),
    matches: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
    directions: Mapping[str, Direction] | None = None,
    aggregates: Mapping[str, str] | None = None,
    seed: int = 0,
    project: str | Path | None = None,
) -> Comparison:
    """Compare two or more experiments, as ``deviate compare`` does.

    Parameters
    ----------
    *names : str or StoredExperiment
        Each an experiment, or ``EXPERIMENT:VARIANT``.
    alpha : float, optional
        Share of false alarms that is accepted, in (0, 1); intervals have the level ``1 - alpha``.
    correction : {'holm', 'bonferroni', 'bh', 'none'}, optional
        For many tests, over metrics and pairs.
    pairing : {'auto', 'on', 'off'}, optional
        Compare runs of one index with each other; ``auto`` does if fingerprints prove that they share draws.
    metrics : str or sequence of str, optional
        Metrics of the first experiment that are compared; by default all. Upper and lower case are one where that
        leaves no doubt, here and below.
    matches : mapping of str to str, optional
        By metric of the first experiment, what the others call it.
    margins : mapping of str to float, optional
        By metric, the smallest difference that matters, above 0, in its unit: ``{"test acc": 0.5}``.
    directions : mapping of str to {'higher', 'lower'}, optional
        By metric, which values are better, where the experiments do not know.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments': ``{"test acc": "best"}``.
    seed : int, optional
        Of random arrangements and resamples.
    project : str or Path, optional
        By default the project one stands in.

    Returns
    -------
    Comparison
        Every number and sentence; ``pairs[0].metrics`` are those of the first two. Printed, it is what ``deviate
        compare`` says.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    workspace, labels = _sides(names, project)
    asked = Asked(
        alpha=alpha,
        correction=correction,
        pairing=pairing,
        metrics=[metrics] if isinstance(metrics, str) else list(metrics),
        matches=dict(matches or {}),
        margins=dict(margins or {}),
        directions=dict(directions or {}),
        seed=seed,
    )
    return compare_sides(workspace, labels, asked, aggregates)


def check(
    a: str | StoredExperiment,
    against: str | StoredExperiment,
    drops: Mapping[str, float | str | Drop],
    *,
    aggregates: Mapping[str, str] | None = None,
    project: str | Path | None = None,
    **options: Any,
) -> Gate:
    """Say whether an experiment is worse than another by more than is allowed, as ``deviate check`` does.

    Parameters
    ----------
    a, against : str or StoredExperiment
        The experiment that is checked, and the one that it must not fall behind; each may be ``EXPERIMENT:VARIANT``.
    drops : mapping of str to float, str or Drop
        By metric, by how much the mean may be worse: ``{"val acc": 0.5, "loss": "2%", "auc": 0}``. With 0 only a drop
        that is shown fails.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments'.
    project : str or Path, optional
        By default the project one stands in.
    **options
        Fields of `deviate.report.gate_parts.GateAsked`, such as ``alpha=0.01`` or ``inconclusive="pass"``.

    Returns
    -------
    Gate
        Its ``passed`` is what the exit status of ``deviate check`` says.
    """
    workspace, labels = _sides((a, against), project)
    allowed = {name: drop if isinstance(drop, Drop) else parse_drop(str(drop)) for name, drop in drops.items()}
    return check_gate(workspace, labels[0], labels[1], GateAsked(drops=allowed, **options), aggregates)


def plan(
    pilot: str | None = None, *, metric: str | None = None, project: str | Path | None = None, **options: Any
) -> Plan:
    """Say how many runs a question needs, as ``deviate plan`` does.

    Parameters
    ----------
    pilot : str, optional
        An experiment, or ``EXPERIMENT:VARIANT``, whose SD and time are planned with.
    metric : str, optional
        Of the pilot.
    project : str or Path, optional
        By default the project one stands in.
    **options
        Fields of `deviate.report.plan.PlanAsked`, such as ``difference=0.5``.
    """
    return make_plan(None if pilot is None else _workspace(project), pilot, metric, PlanAsked(**options))


def _sides(given: Sequence[str | StoredExperiment], project: str | Path | None) -> tuple[Workspace, list[str]]:
    first = next((name for name in given if isinstance(name, StoredExperiment)), None)
    workspace = Workspace(first.folder.project) if first is not None and project is None else _workspace(project)
    return workspace, [name.name if isinstance(name, StoredExperiment) else name for name in given]


def names(project: str | Path | None = None) -> list[str]:
    """Return the names of the experiments of the project one stands in, or of `project`."""
    return _workspace(project).names()


def _workspace(project: str | Path | None) -> Workspace:
    return Workspace(Path(project).resolve() if project else find_workspace(Path.cwd()))
