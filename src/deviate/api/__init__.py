"""Deviate from Python: run an experiment, load one, take its tables into pandas."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from deviate.api.keywords import CheckKeywords, PlanKeywords, RunKeywords, TrainingKeywords, known_keywords
from deviate.api.stored import StoredExperiment as StoredExperiment
from deviate.core.errors import BadOption
from deviate.core.experiment import DEFAULT_RUNS
from deviate.store.folders import Workspace

if TYPE_CHECKING:
    from deviate.core.experiment import Direction
    from deviate.facts.comparison_options import Drop, PairingMode
    from deviate.facts.gate import Gate
    from deviate.facts.grid import Grid
    from deviate.facts.judging import Judged, Loop
    from deviate.facts.plan import Plan
    from deviate.probes.certify import Certified
    from deviate.probes.verdicts import Audit
    from deviate.report.views import ComparisonView, View
    from deviate.runs.request import Request
    from deviate.stats.multiplicity import Correction


@known_keywords(RunKeywords)
def run(
    command: Sequence[str] | str,
    n: int = DEFAULT_RUNS,
    *,
    vary: str | Sequence[str] = (),
    progress: bool | Callable[[str], object] = True,
    **options: Unpack[RunKeywords],
) -> StoredExperiment:
    """Train `n` times and return the experiment, as ``deviate run`` does.

    Parameters
    ----------
    command : str or sequence of str
        What one types to train; a string is split as a shell splits words.
    n : int, optional
        Runs of each variant, those already done counted in.
    vary : str or sequence of str, optional
        What varies between runs, as ``--vary``: ``"init"``, ``"arms"``, ``["init", "shuffle"]``; by default every
        source but the data. ``variants`` is another name for it.
    progress : bool or function, optional
        In a notebook, show below the cell how far the runs are; a function is called with that text, anywhere.
    **options
        As the options of ``deviate run``, such as ``jobs=2`` or ``name="base"``; see `RunKeywords`.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    words = _words(command)
    if vary:
        if "variants" in options:
            raise BadOption("vary= and variants= name the same thing", hint="leave one out")
        options["variants"] = (vary,) if isinstance(vary, str) else tuple(vary)
    from deviate.api.progress import observer
    from deviate.facts.referee import Referee
    from deviate.runs.pipeline import run as run_study

    request = _request(words, runs=n, **options)
    return StoredExperiment(run_study(request, observer(progress), Referee()))


@known_keywords(RunKeywords)
def audit(
    command: Sequence[str] | str,
    *,
    limit: float | None = None,
    quick: bool = False,
    explain: str | None = None,
    **options: Unpack[RunKeywords],
) -> View[Audit]:
    """Say which sources of nondeterminism a command has and what pins them, as ``deviate audit`` does.

    Parameters
    ----------
    command : str or sequence of str
        What one types to train; a string is split as a shell splits words.
    limit : float, optional
        Seconds after which a probe is ended; by default 60.
    quick : bool, optional
        Look at the program as it is only.
    explain : str, optional
        List the lines that draw for this factor, too.
    **options
        Fields of `deviate.runs.request.Request`, such as ``project``.
    """
    from deviate.probes.audit import audit as probe
    from deviate.probes.trial import DEFAULT_LIMIT
    from deviate.report.views import page_view

    request = _request(_words(command), **options)
    return page_view(probe(request, DEFAULT_LIMIT if limit is None else limit, quick=quick, explain=explain))


@known_keywords(RunKeywords)
def certify(command: Sequence[str] | str, *, n: int | None = None, **options: Unpack[RunKeywords]) -> View[Certified]:
    """Train twice or more with everything held and say what was equal, as ``deviate certify`` does.

    ``certificate`` of the result is None where the runs differ, and ``parting`` the first value that does.

    Parameters
    ----------
    command : str or sequence of str
        What one types to train; a string is split as a shell splits words.
    n : int, optional
        Control runs; by default 2.
    **options
        Fields of `deviate.runs.request.Request`, such as ``project``.
    """
    from deviate.probes.certify import DEFAULT_RUNS
    from deviate.probes.certify import certify as probe
    from deviate.report.views import page_view

    return page_view(probe(_request(_words(command), **options), DEFAULT_RUNS if n is None else n))


@known_keywords(TrainingKeywords)
def baseline(
    runs: Sequence[str] | str | StoredExperiment = (),
    n: int = DEFAULT_RUNS,
    *,
    values: Sequence[float] = (),
    metric: str | None = None,
    better: Direction | None = None,
    tries: int = 50,
    most: int = 20,
    spread: bool = False,
    progress: bool | Callable[[str], object] = True,
    **options: Unpack[TrainingKeywords],
) -> View[Loop]:
    """Measure the floor of noise that `judge` holds changes against, as ``deviate baseline`` does.

    Parameters
    ----------
    runs : str or sequence of str or StoredExperiment, optional
        What one types to train, or an experiment that is there.
    n : int, optional
        Runs of the floor.
    values : sequence of float, optional
        Instead of `runs`, a result of each run, made elsewhere; NaN for a run that failed.
    metric : str, optional
        What is judged; by default the metric that leads the report.
    better : {'higher', 'lower'}, optional
        Which values are better; by default by the metric's name.
    tries : int, optional
        Changes that may be judged against the floor.
    most : int, optional
        Most runs of a change.
    spread : bool, optional
        Also keep a change whose runs differ less; the two tests share the 5 %.
    progress : bool or function, optional
        As for `run`.
    **options
        As the options of ``deviate baseline``; see `TrainingKeywords`.
    """
    from deviate.api.progress import observer
    from deviate.facts.judging import Floor, choose_baseline, measure_baseline
    from deviate.report.views import page_view

    workspace, words = _judged_words(runs, options.get("project"))
    floor = Floor(metric=metric, better=better, tries=tries, most=most, spread=spread)

    def train() -> Loop:
        return measure_baseline(_request(words, runs=n, **options), floor, observer(progress))

    return page_view(choose_baseline(workspace, words, values, floor, n, train))


@known_keywords(TrainingKeywords)
def judge(
    runs: Sequence[str] | str | StoredExperiment = (),
    *,
    values: Sequence[float] = (),
    progress: bool | Callable[[str], object] = True,
    **options: Unpack[TrainingKeywords],
) -> View[Judged]:
    """Say whether a change is kept, as ``deviate judge`` does; what is kept becomes the baseline.

    ``decision`` of the result is ``"keep"``, ``"discard"`` or ``"run more"``.

    Parameters
    ----------
    runs : str or sequence of str or StoredExperiment, optional
        What one types to train, which is run until it is decided; or an experiment that is there.
    values : sequence of float, optional
        Instead of `runs`, all results of the change in the order of its runs; NaN for a run that failed.
    progress : bool or function, optional
        As for `run`.
    **options
        As the options of ``deviate judge``; see `TrainingKeywords`.
    """
    from deviate.api.progress import observer
    from deviate.facts.judging import choose_judged, judge_command
    from deviate.report.views import page_view

    workspace, words = _judged_words(runs, options.get("project"))

    def train() -> Judged:
        return judge_command(_request(words, **options), workspace, observer(progress))

    return page_view(choose_judged(workspace, words, values, train))


def _judged_words(
    runs: Sequence[str] | str | StoredExperiment, project: str | Path | None
) -> tuple[Workspace, list[str]]:
    if isinstance(runs, StoredExperiment):
        return _sides([runs], project)
    return _workspace(project), _words(runs)


def _words(command: Sequence[str] | str) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else list(command)


def _request(words: list[str], **options: Any) -> Request:
    """Return a request of what is given, and of what ``deviate.toml`` says beside it."""
    from deviate.runs.request import Request
    from deviate.source.config import file_settings

    return Request(command=words, **{**file_settings(options.get("project"), options.get("here")), **options})


@known_keywords()
def load(name: str, *, project: str | Path | None = None) -> StoredExperiment:
    """Return the experiment `name` of the project one stands in, or of `project`.

    Raises
    ------
    UnknownExperiment
        If there is none of that name.
    """
    return StoredExperiment(_workspace(project).find_experiment(name))


@known_keywords()
def compare(
    *names: str | StoredExperiment,
    alpha: float | None = None,
    correction: Correction | None = None,
    pairing: PairingMode = "auto",
    metrics: str | Sequence[str] = (),
    matches: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
    directions: Mapping[str, Direction] | None = None,
    until: Literal["decided"] | None = None,
    most: int | None = None,
    aggregates: Mapping[str, str] | None = None,
    weak: Sequence[str] = (),
    reach: Sequence[str] = (),
    test_sizes: Mapping[str, int] | None = None,
    main: str = "",
    groups: str | Sequence[str] = (),
    tasks: bool = False,
    seed: int = 0,
    levels: Sequence[float] = (),
    project: str | Path | None = None,
) -> ComparisonView:
    """Compare two or more experiments, as ``deviate compare`` does.

    Parameters
    ----------
    *names : str or StoredExperiment
        Each an experiment, or ``EXPERIMENT:VARIANT``.
    alpha : float, optional
        Share of false alarms that is accepted, in (0, 1); intervals have the level ``1 - alpha``. By default what
        ``[statistics]`` in ``deviate.toml`` says, else 0.05.
    correction : {'holm', 'bonferroni', 'bh', 'none'}, optional
        For many tests, over metrics and pairs. By default what ``[statistics]`` says, else ``'holm'``.
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
        By metric, which values are better; remembered for all experiments of the project.
    until : {'decided'}, optional
        The experiments grow, and are compared until a difference is shown: all looks share alpha. At the first look.
    most : int, optional
        With `until`, runs per side at the last look; by default 30.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments': ``{"test acc": "best"}``.
    weak : sequence of str, optional
        Rules for runs that are left out: ``["test acc<50"]``.
    reach : sequence of str, optional
        Values to which the iterations and seconds are measured: ``["test acc>=90"]``.
    test_sizes : mapping of str to int, optional
        Number of test examples, by metric.
    main : str, optional
        The metric that leads.
    groups : str or sequence of str, optional
        Files with groups of the evaluated examples, or columns of the file of predictions that each run writes.
    tasks : bool, optional
        The metrics are tasks on one scale: the interquartile mean over all, and the probability of improvement.
    seed : int, optional
        Of random arrangements and resamples.
    levels : sequence of float, optional
        Confidence levels at which the interval of each difference is given, beside the one of `alpha`.
    project : str or Path, optional
        By default the project one stands in.

    Returns
    -------
    ComparisonView
        Every number. Of two sides ``verdict``, ``p``, ``difference`` (the second minus the first) and ``interval`` are
        those of the metric that is claimed; ``comparison["test acc"]`` is one metric. Printed, it is what
        ``deviate compare`` says.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    from deviate.facts.comparison import read_comparison, side_facts
    from deviate.facts.comparison_options import ComparisonOptions
    from deviate.facts.samples import read_options
    from deviate.report.views import comparison_view

    workspace, labels = _sides(names, project)
    options = ComparisonOptions(
        **_statistics(workspace, "alpha", "correction", alpha=alpha, correction=correction),
        pairing=pairing,
        metrics=[metrics] if isinstance(metrics, str) else list(metrics),
        matches=dict(matches or {}),
        margins=dict(margins or {}),
        until=until,
        most=most,
        seed=seed,
        groups=(groups,) if isinstance(groups, str) else tuple(groups),
        tasks=tasks,
        levels=tuple(levels),
        samples=read_options(
            aggregates=aggregates, directions=directions, weak=weak, reach=reach, test_sizes=test_sizes, main=main
        ),
    )
    comparison = read_comparison(workspace, labels, options)
    now = datetime.now().astimezone()
    return comparison_view(comparison, lambda: side_facts(workspace, comparison.comparability, options, now))


@known_keywords()
def compare_grid(
    name: str | None = None,
    *,
    alpha: float | None = None,
    metrics: str | Sequence[str] = (),
    directions: Mapping[str, Direction] | None = None,
    aggregates: Mapping[str, str] | None = None,
    weak: Sequence[str] = (),
    reach: Sequence[str] = (),
    test_sizes: Mapping[str, int] | None = None,
    main: str = "",
    project: str | Path | None = None,
) -> View[Grid]:
    """Compare the cells of a grid of ``deviate.toml``, as ``deviate compare`` does with the name of an experiment.

    Parameters
    ----------
    name : str, optional
        The ``name`` of an ``[[experiment]]``, or ``NAME:VARIANT``; by default all experiments of the file.
    alpha : float, optional
        Share of false alarms that is accepted over all that is claimed, in (0, 1), as for `compare`.
    metrics, directions, aggregates, weak, reach, test_sizes, main : optional
        As for `compare`.
    project : str or Path, optional
        By default the project one stands in.

    Returns
    -------
    View of Grid
        Every number; ``metrics[0].cells`` and ``metrics[0].terms`` are those of the metric that is claimed.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    from deviate.facts.comparison import side_facts
    from deviate.facts.comparison_options import ComparisonOptions
    from deviate.facts.grid import read_grid
    from deviate.facts.samples import read_options
    from deviate.report.views import grid_view

    workspace, now = _workspace(project), datetime.now().astimezone()
    options = ComparisonOptions(
        **_statistics(workspace, "alpha", alpha=alpha),
        metrics=[metrics] if isinstance(metrics, str) else list(metrics),
        samples=read_options(
            aggregates=aggregates, directions=directions, weak=weak, reach=reach, test_sizes=test_sizes, main=main
        ),
    )
    grid = read_grid(workspace, [name] if name else [], options)
    return grid_view(grid, lambda: side_facts(workspace, grid.comparability, options, now))


@known_keywords(CheckKeywords)
def check(
    a: str | StoredExperiment,
    against: str | StoredExperiment,
    drops: Mapping[str, float | str | Drop],
    *,
    groups: str | Sequence[str] = (),
    aggregates: Mapping[str, str] | None = None,
    directions: Mapping[str, Direction] | None = None,
    weak: Sequence[str] = (),
    reach: Sequence[str] = (),
    test_sizes: Mapping[str, int] | None = None,
    main: str = "",
    project: str | Path | None = None,
    **options: Unpack[CheckKeywords],
) -> View[Gate]:
    """Say whether an experiment is worse than another by more than is allowed, as ``deviate check`` does.

    Parameters
    ----------
    a, against : str or StoredExperiment
        The experiment that is checked, and the one that it must not fall behind; each may be ``EXPERIMENT:VARIANT``.
    drops : mapping of str to float, str or Drop
        By metric, by how much the mean may be worse: ``{"val acc": 0.5, "loss": "2%", "auc": 0}``. With 0 only a drop
        that is shown fails.
    groups : str or sequence of str, optional
        As for `compare`: the accuracy on each group is checked as well; ``max_group_drop=0.02`` allows that of each to
        be lower by two of a hundred examples.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments'.
    directions, weak, reach, test_sizes, main : optional
        As for `compare`.
    project : str or Path, optional
        By default the project one stands in.
    **options
        Fields of `deviate.facts.comparison_options.GateOptions`, such as ``alpha=0.01`` or ``inconclusive="pass"``.

    Returns
    -------
    View of Gate
        Its ``passed`` is what the exit status of ``deviate check`` says.
    """
    from deviate.facts.comparison_options import Drop, GateOptions, parse_drop
    from deviate.facts.gate import read_gate
    from deviate.facts.samples import read_options
    from deviate.report.views import gate_view

    workspace, (checked, other) = _sides((a, against), project)
    allowed = {name: drop if isinstance(drop, Drop) else parse_drop(str(drop)) for name, drop in drops.items()}
    samples = read_options(
        aggregates=aggregates, directions=directions, weak=weak, reach=reach, test_sizes=test_sizes, main=main
    )
    sources = (groups,) if isinstance(groups, str) else tuple(groups)
    known = _statistics(workspace, "alpha", "inconclusive", **options)
    asked = GateOptions(drops=allowed, groups=sources, samples=samples, **known)
    return gate_view(read_gate(workspace, checked, other, asked))


@known_keywords(PlanKeywords)
def plan(
    pilot: str | None = None,
    *,
    aggregates: Mapping[str, str] | None = None,
    directions: Mapping[str, Direction] | None = None,
    weak: Sequence[str] = (),
    reach: Sequence[str] = (),
    test_sizes: Mapping[str, int] | None = None,
    main: str = "",
    project: str | Path | None = None,
    **options: Unpack[PlanKeywords],
) -> View[Plan]:
    """Say how many runs a question needs, as ``deviate plan`` does.

    Parameters
    ----------
    pilot : str, optional
        An experiment, or ``EXPERIMENT:VARIANT``, whose SD and time are planned with.
    aggregates, directions, weak, reach, test_sizes, main : optional
        Of the pilot, as for `compare`.
    project : str or Path, optional
        By default the project one stands in.
    **options
        Fields of `deviate.facts.plan.PlanOptions`, such as ``difference=0.5`` or ``metric="test acc"``.
    """
    from deviate.facts.plan import PlanOptions, read_plan
    from deviate.facts.samples import read_options
    from deviate.report.views import plan_view

    samples = read_options(
        aggregates=aggregates, directions=directions, weak=weak, reach=reach, test_sizes=test_sizes, main=main
    )
    workspace = _workspace(project)
    asked = PlanOptions(samples=samples, **_statistics(workspace, "alpha", "power", **options))
    return plan_view(read_plan(None if pilot is None else workspace, pilot, asked))


def _statistics(workspace: Workspace, *names: str, **given: Any) -> dict[str, Any]:
    """Return what is given, above what ``[statistics]`` in ``deviate.toml`` says under `names`."""
    from deviate.source.config import file_statistics

    known = {name: value for name, value in given.items() if value is not None}
    return {**file_statistics(workspace.project, *names), **known}


def _sides(sides: Sequence[str | StoredExperiment], project: str | Path | None) -> tuple[Workspace, list[str]]:
    first = next((name for name in sides if isinstance(name, StoredExperiment)), None)
    workspace = Workspace(first.folder.project) if first is not None and project is None else _workspace(project)
    return workspace, [name.name if isinstance(name, StoredExperiment) else name for name in sides]


def names(project: str | Path | None = None) -> list[str]:
    """Return the names of the experiments of the project one stands in, or of `project`."""
    return _workspace(project).names()


def _workspace(project: str | Path | None) -> Workspace:
    return Workspace(Path(project).resolve()) if project else Workspace.nearest(Path.cwd())
