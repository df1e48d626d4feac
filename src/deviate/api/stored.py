"""A stored experiment for Python users: its tables, curves, figures and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from deviate.api.keywords import known_keywords
from deviate.core.errors import BadOption
from deviate.core.factors import DEFAULT_VARIANT
from deviate.store.folders import ExperimentFolder
from deviate.store.run_files import TAKEN

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from deviate.core.experiment import Experiment
    from deviate.facts.experiment import ExperimentFacts
    from deviate.facts.weights import RunWeights
    from deviate.report.views import VariantView, View
    from deviate.report.writers.notebook import Figures
    from deviate.stats.curves import CurveBand, Parting

PlotKind = Literal["runs", "curves", "sources"]

_SECTIONS: dict[str, str] = {"runs": "distribution", "curves": "curves", "sources": "factors"}

#: What each kind of chart needs.
_WANTING = {
    "runs": "it needs a completed run with a metric",
    "curves": "it needs a metric that is reported in several iterations",
    "sources": "it needs runs of several variants, as --vary arms or --vary sources makes them",
}


class _Variants(dict[str, "VariantView"]):
    """Variants by name; others names of theirs are taken, too."""

    def __init__(self, folder: ExperimentFolder, facts: ExperimentFacts) -> None:
        from deviate.report.topics.experiment import variant_page
        from deviate.report.views import VariantView

        super().__init__(
            {each.variant: VariantView(each, partial(variant_page, each, facts)) for each in facts.variants}
        )
        self._folder = folder

    def __missing__(self, name: str) -> VariantView:
        from deviate.facts.stored import choose_variant

        return self[choose_variant(self._folder, list(self), name)]


class StoredExperiment:
    """An experiment with its runs, as they lie in the workspace."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        done = ", ".join(f"{variant}: {count} completed" for variant, count in self.summary()["completed"].items())
        return f"<experiment {self.name!r}, {done}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.folder.name

    @property
    def experiment(self) -> Experiment:
        """The request: command, entry, metrics, variants."""
        return self.folder.read_experiment()

    @property
    def variants(self) -> Mapping[str, VariantView]:
        """What is known of each variant, by its name or by what varied in words: ``variants["init"].sd``."""
        return _Variants(self.folder, self.report(curves=False).facts)

    @known_keywords()
    def records(self, *, include_failed: bool = False) -> pd.DataFrame:
        """Return every reported value of the completed runs.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``metric``, ``iteration`` (from 0; -1 before the main loop), ``elapsed_s``
            and ``value``.
        """
        from deviate.observe.tables import open_tables

        with open_tables(self.folder, include_failed=include_failed) as tables:
            return tables.records()

    @known_keywords()
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
        import pandas as pd

        from deviate.facts.samples import SampleOptions, settle_options
        from deviate.observe.metrics import SampleRow
        from deviate.observe.tables import open_tables

        with open_tables(self.folder) as tables:
            names = [name for name, _ in tables.names]
            options = settle_options(SampleOptions(aggregates=dict(aggregates or {})), names)
            rows = tables.samples(options.aggregates)
        columns = list(SampleRow._fields)
        return pd.DataFrame(rows, columns=columns).astype(
            {"variant": str, "run": "int64", "metric": str, "aggregate": str, "value": "float64"}
        )

    @known_keywords()
    def frame(self, *, aggregates: Mapping[str, str] | None = None, usage: bool = False) -> pd.DataFrame:
        """Return the completed runs as rows and the metrics as columns, in the order of the report.

        Parameters
        ----------
        aggregates : mapping of str to str, optional
            Aggregates by metric, where they should differ from the experiment's: ``{"test acc": "best"}``.
        usage : bool, optional
            Add what each run took: columns ``seconds``, ``cpu_seconds``, ``peak_memory`` and ``gpu_memory`` (bytes).

        Returns
        -------
        DataFrame
            Rows are named by ``variant`` and ``run``; a value is missing where a run has no finite one.
        """
        import pandas as pd

        from deviate.facts.samples import SampleOptions
        from deviate.facts.stored import read_results
        from deviate.observe.headline import main_first

        results = read_results(self.folder, SampleOptions(aggregates=dict(aggregates or {})))
        completed = [(run.variant, run.index) for run in results.runs if run.status == "completed"]
        columns = dict.fromkeys(
            sample.name for sample in main_first([each for samples in results.samples.values() for each in samples])
        )
        table = pd.DataFrame(
            index=pd.MultiIndex.from_tuples(completed, names=["variant", "run"]), columns=list(columns), dtype=float
        )
        for variant, samples in results.samples.items():
            for sample in samples:
                for run, value in zip(sample.runs, sample.values, strict=True):
                    table.loc[(variant, run), sample.name] = value
        for name in ("seconds", *TAKEN) if usage else ():
            taken = [getattr(run, name) for run in results.runs if run.status == "completed"]
            table[name] = pd.Series(taken, index=table.index, dtype=float)
        return table

    def __getitem__(self, metric: str) -> pd.Series[float]:
        """Return one metric of the completed runs, see `frame`.

        Raises
        ------
        BadOption
            With the metrics there are, if it is none of them.
        """
        from deviate.lexicon.words import find_name

        table = self.frame()
        return table[find_name(metric, list(table.columns))]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.frame().columns)

    @known_keywords()
    def plot(self, metric: str | None = None, *, kind: PlotKind = "runs") -> Any:
        """Return a chart of one metric.

        Parameters
        ----------
        metric : str, optional
            By default the first of the report.
        kind : {'runs', 'curves', 'sources'}, optional
            Each run's value, the learning curves, or the SD by what varies.

        Returns
        -------
        altair.Chart
            As in the report; notebooks show it, and its ``save()`` writes it.

        Raises
        ------
        BadOption
            If there is no such metric, or no such chart of it.
        """
        from deviate.lexicon.words import find_name

        section = _SECTIONS.get(kind)
        if section is None:
            raise BadOption(f"plot() knows no kind {kind!r}", hint=f"one of {', '.join(_SECTIONS)}")
        view = self.report()
        figures = {each.metric: each for each in view.drawn() if each.section == section and each.metric}
        if not figures:
            raise BadOption(f"{self.name!r} has no chart of kind {kind!r}", hint=_WANTING[kind])
        name = next(iter(figures)) if metric is None else find_name(metric, list(figures))
        return view.figures()[figures[name].slug]

    def fingerprints(self) -> pd.DataFrame:
        """Return what each run that has ended drew, as digests: equal ones mean equal draws.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``name`` (a factor, ``batches`` or ``weights``), ``digest`` and ``count``.
        """
        import pandas as pd

        from deviate.observe.records import read_ended_runs

        rows = [
            (run.variant, run.index, fingerprint.name, fingerprint.digest, fingerprint.count)
            for run in read_ended_runs(self.folder)
            for fingerprint in run.fingerprints.values()
        ]
        return pd.DataFrame(rows, columns=["variant", "run", "name", "digest", "count"])

    @known_keywords()
    def predictions(self, *, metric: str | None = None, scores: bool = False) -> pd.DataFrame:
        """Return what the completed runs predicted, one row per run and example.

        Of each variant it is the evaluation that a report shows first; its examples are matched between the runs.

        Parameters
        ----------
        metric : str, optional
            The metric whose evaluation is wanted, by default the main one.
        scores : bool, optional
            Add a column for each class, ``score of CLASS``: its probability, where the scores of all classes were kept
            (``predictions="scores"``).

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``example`` (its number in the data set, the digest of its input or its
            position), ``target``, ``prediction`` and ``score`` (probability of a predicted class); missing where it is
            not known. No row where nothing was captured, or examples could not be matched.

        Raises
        ------
        BadOption
            With the metrics there are, if one is named that is not.
        """
        from deviate.facts.predictions import main_evaluations, prediction_table
        from deviate.facts.stored import read_results

        results = read_results(self.folder)
        mains = main_evaluations(results.evaluations, results.samples, metric)
        return prediction_table(mains, scores=scores)

    def weights(self) -> pd.DataFrame:
        """Return what is known of the weights that the completed runs kept, one row per run, moment and tensor.

        Every number is read, for the digests. `load_weights` returns the numbers. No row where none were kept
        (``weights="final"``, ``weights="every:5"`` or a pattern of checkpoints), or files are damaged.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``iteration`` (from 0) and ``file`` (a checkpoint that the run wrote), both
            missing for the final weights, ``tensor``, ``shape``, ``dtype`` and ``digest`` (of the bytes: equal ones
            mean equal numbers).
        """
        from deviate.facts.weights import weights_table

        return weights_table(self._weights())

    @known_keywords()
    def load_weights(
        self, run: int, variant: str | None = None, *, after: int | str | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the weights of a completed run by the names of their tensors.

        Parameters
        ----------
        run : int
            Its number in `weights`.
        variant : str, optional
            By default the only one there is, or ``algo+impl`` where there are several.
        after : int or str, optional
            An iteration, or a file that the run wrote, as in `weights`; by default the final weights.

        Returns
        -------
        dict of str to ndarray
            Arrays that are read from the file as they are used, and cannot be written to; bfloat16 is widened to 32
            bits.

        Raises
        ------
        BadOption
            With what was kept, where it is not what is asked for.
        """
        from deviate.facts.weights import weights_of

        return weights_of(self._kept_weights(variant), run, after)

    def mean_weights(
        self, runs: Sequence[int] | None = None, variant: str | None = None, *, after: int | str | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the mean of the weights of several runs, by the names of their tensors.

        What a model with them predicts only the program can say that makes it. Runs with unlike initial weights end at
        unlike permutations of their hidden units, and the mean of their weights computes nothing like what they do.

        Parameters
        ----------
        runs : sequence of int, optional
            Their numbers in `weights`, two or more; by default all completed ones that kept weights.
        variant, after : optional
            As for `load_weights`.

        Raises
        ------
        BadOption
            If fewer than two runs are there, one of them kept no such weights, or they are not of one model.
        """
        from deviate.facts.weights import mean_weights_of

        return mean_weights_of(self._kept_weights(variant), runs, after)

    def _kept_weights(self, variant: str | None) -> dict[str, RunWeights]:
        from deviate.facts.stored import choose_variant

        if not (known := self._weights()):
            raise BadOption(f"no run of {self.name} kept its weights", hint="deviate run --weights final keeps them")
        return known[choose_variant(self.folder, list(known), variant or "")]

    def _weights(self) -> dict[str, dict[str, RunWeights]]:
        from deviate.facts.weights import weights_by_variant
        from deviate.observe.records import read_ended_runs

        return weights_by_variant(read_ended_runs(self.folder))

    @known_keywords()
    def report(
        self,
        *,
        level: float = 0.95,
        metrics: Sequence[str] = (),
        aggregates: Mapping[str, str] | None = None,
        curves: bool = True,
        groups: str | Sequence[str] = (),
        positive: str = "",
        inputs: str = "",
        differences: Mapping[str, float] | None = None,
    ) -> View[ExperimentFacts]:
        """Return all that is known about the experiment, as data that shows itself when it is printed.

        Parameters
        ----------
        level : float, optional
            Confidence level of the intervals, in (0, 1).
        metrics : sequence of str, optional
            Metrics to report on; by default all.
        aggregates : mapping of str to str, optional
            Aggregates by metric, where they should differ from the experiment's.
        curves : bool, optional
            Read every record for learning curves, which takes longer than all the rest.
        groups : str or sequence of str, optional
            Files with groups of the evaluated examples, or columns of the file of predictions that each run writes.
        positive : str, optional
            The class that counts as positive in the rates of groups; by default the greater of two.
        inputs : str, optional
            A file or a folder with the inputs of the evaluated examples, shown on the flip list: an ``.npy``, a table,
            or pictures and texts.
        differences : mapping of str to float, optional
            By metric, a difference between two recipes that you or a paper would claim: the report tells how large the
            SD is beside it, and how often one run of each would rank them wrongly.

        Raises
        ------
        BadOption
            If the inputs cannot be read, or are not those of the evaluated examples.
        BadGroups
            If groups cannot be read, or are not those of the evaluated examples.
        """
        from datetime import datetime

        from deviate.facts.experiment import experiment_facts
        from deviate.facts.groups import read_group_options
        from deviate.facts.samples import read_options
        from deviate.facts.stored import read_results
        from deviate.report.views import experiment_view

        options = read_options(aggregates=aggregates, differences=differences)
        chosen = read_group_options(groups, positive)
        results = read_results(self.folder, options, curves=curves, weights=True, groups=chosen, inputs=inputs)
        facts = experiment_facts(results, datetime.now().astimezone(), level=level, metrics=metrics)
        return experiment_view(facts, results.recorded)

    @known_keywords()
    def metrics(self, *, level: float = 0.95, aggregates: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return how much the completed runs differ, one row per variant and metric.

        Returns
        -------
        DataFrame
            The columns of ``deviate report NAME --format summary``: n, mean, SD, CV, intervals and more.
        """
        import pandas as pd

        from deviate.report.writers.tables_csv import SUMMARY_COLUMNS, summary_rows

        rows = summary_rows(self.report(level=level, aggregates=aggregates).facts)
        return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))

    @known_keywords()
    def groups(self, groups: str | Sequence[str], *, positive: str = "", level: float = 0.95) -> pd.DataFrame:
        """Return how well the completed runs do on groups of examples, one row per group and rate.

        Parameters are those of `report`.

        Returns
        -------
        DataFrame
            The columns of ``deviate report NAME --set groups=... --format groups``: the column that makes the group
            (empty for all examples), its name, number of examples, the rate with mean, SD, its interval and more.
        """
        import pandas as pd

        from deviate.report.writers.tables_csv import GROUP_COLUMNS, group_rows

        rows = group_rows(self.report(level=level, curves=False, groups=groups, positive=positive).facts)
        return pd.DataFrame(rows, columns=list(GROUP_COLUMNS))

    def forgetting(self) -> pd.DataFrame:
        """Return what the completed runs forget, one row an example of the evaluation that a report shows first.

        Evaluations count from 0. No row where not every evaluation was kept (``predictions="labels:every"``), or
        targets are not known.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``example``, ``target``, ``events`` (mean number of times that a run forgets it),
            ``runs_learnt``, ``runs_unforgettable``, ``first_learnt`` and ``first_learnt_sd`` (over the runs that
            learn it).
        """
        from deviate.facts.learning import forgetting_tables
        from deviate.facts.predictions import main_evaluations
        from deviate.facts.stored import read_results

        results = read_results(self.folder)
        return forgetting_tables(main_evaluations(results.evaluations, results.samples))

    @known_keywords()
    def figures(self, *, level: float = 0.95, aggregates: Mapping[str, str] | None = None) -> Figures:
        """Return every figure of the report as an Altair chart, by slug: ``figures()["curves-test-acc"]``."""
        return self.report(level=level, aggregates=aggregates).figures()

    @known_keywords()
    def curve(self, metric: str, variant: str | None = None, *, band: float = 0.5) -> CurveBand:
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
        from deviate.stats.curves import curve_band

        return curve_band(self._curves(metric, variant), band)

    @known_keywords()
    def parting(self, metric: str, variant: str | None = None, *, tolerance: float = 0.0) -> Parting:
        """Return the iteration at which the completed runs part: where two of them differ by more than `tolerance`.

        Metric and variant are named as for `curve`.
        """
        from deviate.stats.curves import parting

        return parting(self._curves(metric, variant), tolerance)

    def _curves(self, metric: str, variant: str | None) -> list[tuple[Any, Any]]:
        from deviate.facts.stored import choose_variant
        from deviate.lexicon.words import find_name

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
        from deviate.facts.overview import overview

        return overview(self.folder)
