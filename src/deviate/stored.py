"""An experiment with its runs as Python users have it: tables, curves, figures, all that is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deviate import pipeline
from deviate.collect import tables
from deviate.collect.fingerprints import fingerprints
from deviate.comparison import choose_variant
from deviate.errors import BadOption
from deviate.factors import DEFAULT_VARIANT
from deviate.measure.curves import DEFAULT_BAND, CurveBand, Parting, curve_band, parting
from deviate.replicate.workspace import ExperimentFolder
from deviate.report.gather import settle_aggregates
from deviate.report.names import find_name

if TYPE_CHECKING:
    import pandas as pd

    from deviate.experiment import Experiment
    from deviate.report.notebook import Figures
    from deviate.report.parts import Document


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
        names = sorted({name for name, _ in tables.recorded_names(self.folder)})
        return tables.samples(self.folder, settle_aggregates(aggregates, names) if aggregates else None)

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
            Upper and lower case are one where that leaves no doubt.
        variant : str, optional
            By default the only one there is, or ``algo+impl`` where there are several.
        band : float, optional
            Share of the runs within the band, in (0, 1).

        Returns
        -------
        CurveBand
            Its fields are arrays of one shape ``(k,)``: ``iterations``, ``n`` (runs with a finite value there),
            ``low``, ``median`` and ``high``; ``to_frame()`` makes them a table.

        Raises
        ------
        BadOption
            With the metrics or variants there are, where one is named that is not.
        """
        return curve_band(self._curves(metric, variant), band)

    def parting(self, metric: str, variant: str | None = None, *, tolerance: float = 0.0) -> Parting:
        """Return the iteration at which the completed runs part: where two of them differ by more than `tolerance`.

        Metric and variant are named as for `curve`.
        """
        return parting(self._curves(metric, variant), tolerance)

    def _curves(self, metric: str, variant: str | None) -> list[tuple[Any, Any]]:
        table = self.records()
        table = table[table["metric"] == find_name(metric, list(table["metric"].unique()))]
        variants = list(table["variant"].unique())
        if variant is None and len(variants) > 1 and DEFAULT_VARIANT not in variants:
            raise BadOption(
                f"{metric!r} has values of {len(variants)} variants: {', '.join(variants)}",
                hint=f"name one: variant={variants[0]!r}",
            )
        chosen = choose_variant(self.folder, variants, variant or "")
        table = table[table["variant"] == chosen]
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
