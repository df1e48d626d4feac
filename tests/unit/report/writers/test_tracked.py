"""What is put into trackers, with stand-ins that have the names and parameters of their libraries."""

import contextlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import report_cases as cases
from compared_sides import sides

from deviate.core.errors import BadOption, NotInstalled
from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.writers.tracked import comparison_summary, experiment_summary, put_into

FACTS = cases.single().facts
USUAL = cases.usual().facts


def put(tracker, facts=USUAL):
    return "".join(put_into(facts, tracker))


def test_an_experiment_is_means_and_sds_with_their_intervals():
    summary = experiment_summary(USUAL)
    [variant] = USUAL.variants
    metric = variant.metrics[0]
    assert summary.numbers[f"{metric.name} mean"] == np.mean(metric.values)
    assert summary.numbers[f"{metric.name} SD"] == np.std(metric.values, ddof=1)
    assert summary.numbers[f"{metric.name} SD CI high"] == metric.ci_sd.high
    assert summary.numbers[f"{metric.name} n"] == metric.n
    assert summary.note.splitlines()[-1].startswith("deviate report digits_mlp, in ")
    assert not any("SD" in name for name in experiment_summary(FACTS).numbers)


def test_a_comparison_has_its_verdicts_and_b_less_a():
    facts = compare_sides(sides(), ComparisonOptions())
    summary = comparison_summary(facts)
    metric = facts.pairs[0].metrics[0]
    name, contrast = metric.a.name, metric.contrast
    assert summary.words[f"{name} verdict"] == metric.verdict
    assert summary.numbers[f"{name} difference"] == np.mean(metric.b.values) - np.mean(metric.a.values)
    assert summary.numbers[f"{name} difference CI low"] == -contrast.difference.interval.high
    assert summary.numbers[f"{name} p"] == metric.deciding_p


def test_mlflow_gets_one_run_however_often_it_is_put_there(monkeypatch):
    stored = {}

    @contextlib.contextmanager
    def start_run(run_id=None, run_name=None):
        yield SimpleNamespace(info=SimpleNamespace(run_name="digits_mlp", run_id=run_id, experiment_id="1"))
        stored.setdefault("started", []).append(run_id or run_name)

    def search_runs(filter_string, output_format, max_results):
        found = filter_string == f"tags.deviate = '{stored.get('tags', {}).get('deviate')}'"
        return [SimpleNamespace(info=SimpleNamespace(run_id="known"))] if found else []

    library = SimpleNamespace(
        set_experiment=lambda name: stored.update(experiment=name),
        search_runs=search_runs,
        start_run=start_run,
        log_metrics=lambda numbers: stored.update(numbers=numbers),
        set_tags=lambda tags: stored.update(tags=tags),
        get_tracking_uri=lambda: "http://host:5000",
    )
    monkeypatch.setitem(sys.modules, "mlflow", library)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    assert put("mlflow") == "mlflow: http://host:5000/#/experiments/1/runs/None\n"
    assert put("mlflow") == "mlflow: http://host:5000/#/experiments/1/runs/known\n"
    assert stored["started"] == ["digits_mlp", "known"]
    assert stored["experiment"] == "deviate"
    assert stored["numbers"] == experiment_summary(USUAL).numbers
    assert stored["tags"]["mlflow.note.content"] == experiment_summary(USUAL).note


def test_wandb_and_trackio_go_on_with_the_run_of_the_experiment(monkeypatch):
    stored = {}
    run = SimpleNamespace(
        summary={}, finish=lambda: None, offline=True, settings=SimpleNamespace(sync_dir="wandb/offline-run-1")
    )
    wandb = SimpleNamespace(init=lambda **given: stored.update(wandb=given) or run)
    trackio = SimpleNamespace(init=lambda **given: stored.update(trackio=given), log=stored.update, finish=lambda: None)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    assert put("wandb") == "wandb: wandb/offline-run-1\n"
    assert run.summary == experiment_summary(USUAL).numbers
    assert (stored["wandb"]["id"], stored["wandb"]["resume"]) == ("deviate-digits-mlp", "allow")
    assert put("trackio") == "trackio: run deviate-digits-mlp; trackio show --project deviate\n"
    assert stored.items() >= run.summary.items()


def test_a_library_that_is_missing_or_refuses_is_an_error_with_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(NotInstalled) as missing:
        put("trackio")
    assert missing.value.hint == "type: pip install trackio"
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace())
    with pytest.raises(BadOption, match="wandb took nothing"):
        put("wandb")
