"""Deviate from Python: run an experiment, load one, take its tables into pandas."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deviate import pipeline
from deviate.audit import audit as make_audit
from deviate.collect import tables
from deviate.collect.fingerprints import fingerprints
from deviate.comparison import compare as compare_sides
from deviate.errors import BadOption
from deviate.gate import check as check_gate
from deviate.gate import parse_drop
from deviate.measure.curves import DEFAULT_BAND, CurveBand, Parting, curve_band, parting
from deviate.planning import plan as make_plan
from deviate.replicate.workspace import ExperimentFolder, Workspace
from deviate.report.comparison.inputs import Asked
from deviate.report.gate_parts import Drop, GateAsked
from deviate.report.plan import PlanAsked
from deviate.request import DEFAULT_RUNS, Request
from deviate.target import find_workspace
from deviate.trial import DEFAULT_LIMIT

if TYPE_CHECKING:
    import pandas as pd

    from deviate.audited import Audit
    from deviate.experiment import Experiment
    from deviate.report.comparison.parts import Comparison
    from deviate.report.gate_parts import Gate
    from deviate.report.notebook import Figures
    from deviate.report.parts import Document
    from deviate.report.plan import Plan


class StoredExperiment:
    """An experiment with its runs, as they lie in the workspace."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        done = ", ".join(f"{variant}: {count} completed" for variant, count in self.summary()["completed"].items())
        return f"<experiment {self.name!r}, {done}>"

    def _repr_html_(self) -> str:
        from deviate.report.notebook import document_html

        return document_html(self.document())

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.folder.name

    @property
    def experiment(self) -> Experiment:
        """What was asked for: command, entry, metrics, variants."""
        return self.folder.read_experiment()

    def records(self, *, include_failed: bool = False) -> pd.DataFrame:
        """Return every reported value of the completed runs.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``metric``, ``iteration`` (from 0; -1 before the main loop), ``elapsed_s``
            and ``value``.
        """
        return tables.records(self.folder, include_failed=include_failed)

    def samples(self, aggregates: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return one number per completed run and metric.

        Parameters
        ----------
        aggregates : mapping of str to str, optional
            Aggregates by metric, where they should differ from the experiment's: ``{"test acc": "best"}``.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``metric``, ``aggregate`` and ``value``.
        """
        return tables.samples(self.folder, aggregates)

    def fingerprints(self) -> pd.DataFrame:
        """Return what each run that has ended drew, as digests: equal ones mean equal draws.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``name`` (a factor, ``batches`` or ``weights``), ``digest`` and ``count``.
        """
        import pandas as pd

        rows = [
            (run.run.variant, run.run.index, found.name, found.digest, found.count)
            for run in self.folder.runs()
            if run.read_outcome() is not None
            for found in fingerprints(run).values()
        ]
        return pd.DataFrame(rows, columns=["variant", "run", "name", "digest", "count"])

    def document(self, *, level: float = 0.95, aggregates: Mapping[str, str] | None = None) -> Document:
        """Return all that is said about the experiment, as data."""
        return pipeline.describe(self.folder, level=level, aggregates=aggregates)

    def metrics(self, *, level: float = 0.95, aggregates: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return how much the completed runs differ, one row a variant and metric.

        Returns
        -------
        DataFrame
            The columns of ``deviate report NAME --format summary``: n, mean, SD, CV, intervals and more.
        """
        from deviate.report.writers.csv import summary_table

        return summary_table(self.document(level=level, aggregates=aggregates))

    def figures(self, *, level: float = 0.95, aggregates: Mapping[str, str] | None = None) -> Figures:
        """Return every figure of the report as an Altair chart, by slug: ``figures()["curves-test-acc"]``."""
        from deviate.report.curves import curves_of
        from deviate.report.figures import document_figures
        from deviate.report.notebook import Figures

        document = self.document(level=level, aggregates=aggregates)
        return Figures(document_figures(document, curves_of(document, self.records())))

    def curve(self, metric: str, variant: str | None = None, *, band: float = DEFAULT_BAND) -> CurveBand:
        """Return the learning curves of the completed runs as one: median and quantile band per iteration.

        Parameters
        ----------
        metric : str
            Its name in `records`.
        variant : str, optional
            May be left out where the experiment has one.
        band : float, optional
            Share of the runs within the band, in (0, 1).
        """
        return curve_band(self._curves(metric, variant), band)

    def parting(self, metric: str, variant: str | None = None, *, tolerance: float = 0.0) -> Parting:
        """Return the iteration at which the completed runs part: where two of them differ by more than `tolerance`."""
        return parting(self._curves(metric, variant), tolerance)

    def _curves(self, metric: str, variant: str | None) -> list[tuple[Any, Any]]:
        table = self.records()
        table = table[table["metric"] == metric]
        variants = list(table["variant"].unique())
        if variant not in variants and (variant is not None or len(variants) != 1):
            raise BadOption(
                f"no variant {variant!r} has a value of {metric!r}",
                hint=f"variants with it: {', '.join(variants) or 'none'}",
            )
        table = table[table["variant"] == (variant or variants[0])]
        return [(part["iteration"], part["value"]) for _, part in table.groupby("run")]

    def summary(self) -> dict[str, Any]:
        """Return name, command, and how many runs of each variant completed."""
        experiment = self.experiment
        completed = Counter(run.run.variant for run in tables.included_runs(self.folder))
        return {
            "name": experiment.name,
            "command": experiment.command,
            "created": experiment.created,
            "planned": experiment.planned,
            "completed": {variant: completed[variant] for variant in experiment.planned},
        }


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
    aggregates: Mapping[str, str] | None = None,
    project: str | Path | None = None,
    **options: Any,
) -> Comparison:
    """Compare two or more experiments, as ``deviate compare`` does.

    Parameters
    ----------
    *names : str or StoredExperiment
        Each an experiment, or ``EXPERIMENT:VARIANT``.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments'.
    project : str or Path, optional
        By default the project one stands in.
    **options
        Fields of `deviate.report.comparison.inputs.Asked`, such as ``alpha=0.01`` or ``margins={"test acc": 0.5}``.

    Returns
    -------
    Comparison
        Every number and sentence; ``pairs[0].metrics`` are those of the first two.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    workspace, labels = _sides(names, project)
    return compare_sides(workspace, labels, Asked(**options), aggregates)


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
