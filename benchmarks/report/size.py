"""Size of the page, and of its curves, of an experiment with many runs and metrics; and how long making it takes.

    python benchmarks/report/size.py --runs 1000 --metrics 100 --iterations 100

The experiment is generated: learning curves with noise; its variants share the runs. Prints a table,
and one JSON object with --json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime

import msgspec
import numpy as np
import pandas as pd

from deviate.core.experiment import Capture, Experiment, Metric
from deviate.facts.curves import Curves, curves_of
from deviate.facts.experiment import ExperimentFacts, experiment_facts
from deviate.facts.run import RunResult
from deviate.facts.samples import DEFAULTS
from deviate.facts.stored import Results, known_metrics, samples_by_variant
from deviate.observe.identity import Series
from deviate.observe.metrics import SampleRow
from deviate.report.figures import themed
from deviate.report.topics.curves import curve_notes, experiment_figures
from deviate.report.topics.experiment import experiment_page
from deviate.report.writers.html import render_html

VARIANTS = ["algo+impl", "algo", "impl", "control", "init", "shuffle", "augment", "layers", "other"]


def metrics_of(count: int) -> list[Metric]:
    """Return losses that every run reports."""
    return [
        Metric(
            name=f"loss {place:03d}", variable="x", expression="x", file="train.py", line=1, end_line=1,
            function="<module>", sink="print", kind="loss", direction="lower", aggregate="last", confidence=1.0,
            why="", capture=Capture(how="value"),
        )
        for place in range(count)
    ]  # fmt: skip


def records_of(metrics: list[Metric], runs: int, iterations: int, variants: list[str]) -> pd.DataFrame:
    """Return a record for each metric, run and iteration."""
    rng = np.random.default_rng(0)
    shape = (len(metrics), runs, iterations)
    fall = np.exp(-5 * np.arange(iterations) / iterations)
    values = fall * (1 + 0.05 * rng.standard_normal(shape))
    metric, run, iteration = (axis.ravel() for axis in np.indices(shape))
    names = pd.Categorical.from_codes(metric, [found.name for found in metrics])
    variant = pd.Categorical.from_codes(run % len(variants), variants)
    return pd.DataFrame(
        {
            "variant": variant,
            "run": run // len(variants),
            "metric": names,
            "iteration": iteration,
            "value": values.ravel(),
        }
    )


def by_run(records: pd.DataFrame) -> dict[str, dict[int, dict[str, Series]]]:
    """Return the records by variant, run and metric."""
    recorded: dict[str, dict[int, dict[str, Series]]] = {}
    for (variant, run, metric), part in records.groupby(["variant", "run", "metric"], observed=True):
        series = Series(part["iteration"].to_numpy(), part["value"].to_numpy(), np.arange(len(part), dtype=np.int32))
        recorded.setdefault(str(variant), {}).setdefault(int(run), {})[str(metric)] = series
    return recorded


def facts_of(metrics: list[Metric], records: pd.DataFrame, iterations: int) -> ExperimentFacts:
    """Return the facts about the experiment."""
    ran = records[["variant", "run"]].drop_duplicates().astype({"variant": str}).sort_values(["variant", "run"])
    planned = {str(variant): int(count) for variant, count in ran["variant"].value_counts().items()}
    experiment = Experiment(
        name="generated", command=["python", "train.py"], entry="train.py", metrics=metrics, main_loop=None, source="",
        seed=0, planned=planned, created="2026-03-01T12:00:00+00:00",
    )  # fmt: skip
    runs = [
        RunResult(variant=variant, index=int(index), status="completed", seconds=1.0)
        for variant, index in ran.itertuples(index=False)
    ]
    last = records[records["iteration"] == iterations - 1].astype({"variant": str, "metric": str})
    table = last.assign(aggregate="last")[list(SampleRow._fields)]
    samples = [SampleRow(*row) for row in table.itertuples(index=False)]
    names = [(metric.name, -1) for metric in metrics]
    measured = known_metrics(experiment, names, DEFAULTS)
    by_variant = samples_by_variant(samples, runs, measured, experiment, DEFAULTS)
    results = Results(experiment=experiment, runs=runs, samples=by_variant, names=names)
    return experiment_facts(results, datetime.now(UTC))


def page_of(facts: ExperimentFacts, curves: Curves) -> str:
    """Return the page of the experiment."""
    return render_html(experiment_page(facts, "full", curves))


def timed(seconds: dict[str, float], name: str, work: object, *given: object) -> object:
    """Call `work` and note how long it took."""
    start = time.perf_counter()
    found = work(*given)  # type: ignore[operator]
    seconds[name] = round(time.perf_counter() - start, 2)
    return found


def measure(runs: int, count: int, iterations: int, variants: int = 1) -> dict[str, object]:
    """Return sizes in MB and times in seconds."""
    seconds: dict[str, float] = {}
    metrics = metrics_of(count)
    records = records_of(metrics, runs, iterations, VARIANTS[:variants])
    facts = timed(seconds, "facts", facts_of, metrics, records, iterations)
    assert isinstance(facts, ExperimentFacts)
    curves = timed(seconds, "curves", curves_of, facts, by_run(records))
    assert isinstance(curves, Curves)
    figures = experiment_figures(facts, curves)
    page = timed(seconds, "page", page_of, facts, curves)
    assert isinstance(page, str)
    sizes = {"page": len(page.encode())}
    for figure in figures:
        kind = f"figures, {figure.section}"
        sizes[kind] = sizes.get(kind, 0) + len(msgspec.json.encode(themed(figure)))
    drawn = curves.metrics[0].variants[0]
    return {
        "runs": runs, "variants": variants, "metrics": count, "iterations": iterations, "records": len(records),
        "figures": len(figures), "runs_drawn": len(drawn.runs), "points_drawn": len(drawn.runs[0].iterations),
        "seconds": seconds, "megabytes": {name: round(size / 1e6, 2) for name, size in sizes.items()},
        "notes": curve_notes(curves),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--metrics", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--variants", type=int, default=1, choices=range(1, len(VARIANTS) + 1))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.runs, options.metrics, options.iterations, options.variants)
    if options.json:
        json.dump(found, sys.stdout)
        return
    for name, value in found.items():
        print(f"{name:14} {value}")


if __name__ == "__main__":
    main()
