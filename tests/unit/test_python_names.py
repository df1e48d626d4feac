"""What a notebook completes, and what it says of a wrong keyword."""

import msgspec
import pandas as pd
import pytest
from compared_sides import write_experiment

import deviate
from deviate.api.keywords import CheckKeywords, PlanKeywords, RunKeywords
from deviate.api.progress import Progress, ignore, notebook_observer
from deviate.core.errors import BadOption
from deviate.core.experiment import Run
from deviate.facts.comparison_options import GateOptions
from deviate.facts.plan import PlanOptions
from deviate.runs.events import RunEnded, RunProgress, RunStarted
from deviate.runs.executors.executor import Slot
from deviate.runs.request import Request
from deviate.store.run_files import Completed, Failed


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_experiment(tmp_path, "train", {"train loss": [0.3, 0.2, 0.1], "Test acc": [90.0, 91.0, 92.5]})
    return deviate.load("train")


def test_dir_lists_the_public_names():
    assert set(deviate.__all__) <= set(dir(deviate))


@pytest.mark.parametrize(
    ("keywords", "options", "named"),
    [
        (RunKeywords, Request, {"command", "runs", "evaluate", "print_script", "stdin"}),
        (CheckKeywords, GateOptions, {"drops", "groups", "samples"}),
        (PlanKeywords, PlanOptions, {"samples"}),
    ],
)
def test_typed_keywords_are_the_options_there_are(keywords, options, named):
    fields = {field.name for field in msgspec.structs.fields(options)}
    assert set(keywords.__annotations__) == fields - named


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: deviate.run("python train.py", varry="init"), "did you mean vary=?"),
        (lambda: deviate.run("python train.py", job=2), "did you mean jobs=?"),
        (lambda: deviate.plan(diference=0.5), "did you mean difference=?"),
        (lambda: deviate.check("a", "b", {}, maxfailures=0.1), "did you mean max_failures=?"),
        (lambda: deviate.compare("a", "b", margin={}), "did you mean margins=?"),
    ],
)
def test_a_wrong_keyword_names_the_nearest(call, hint):
    with pytest.raises(BadOption) as caught:
        call()
    assert caught.value.hint == hint


def test_a_keyword_like_none_lists_all(experiment):
    with pytest.raises(BadOption) as caught:
        experiment.figures(zzz=1)
    assert caught.value.message == "figures() takes no keyword 'zzz'"
    assert caught.value.hint == "it takes level, aggregates"


def test_vary_and_variants_are_one():
    with pytest.raises(BadOption, match="the same thing"):
        deviate.run("python train.py", vary="init", variants=("init",))
    with pytest.raises(BadOption, match="names no variant"):
        deviate.run("python -c pass", vary=["initt"])


def test_a_frame_has_runs_as_rows_and_metrics_in_the_order_of_the_report(experiment):
    table = experiment.frame()
    assert list(table.columns)[:2] == ["Test acc", "train loss"]
    assert table.index.to_list() == [("algo+impl", run) for run in range(3)]
    assert table["train loss"].to_list() == [0.3, 0.2, 0.1]


def test_an_experiment_is_indexed_by_metric(experiment):
    values = experiment["test acc"]
    assert isinstance(values, pd.Series)
    assert values.to_list() == [90.0, 91.0, 92.5]
    assert "Test acc" in experiment._ipython_key_completions_()
    with pytest.raises(BadOption, match="no metric 'f1'"):
        experiment["f1"]


def test_a_variant_shows_its_metrics(experiment):
    variant = experiment.variants["everything"]
    assert variant["train loss"].spread.mean == variant.metrics[1].spread.mean == pytest.approx(0.2)
    assert "3 of 3 runs completed" in repr(variant)
    assert "<td>train loss" in variant._repr_html_()


def test_a_plot_is_that_of_the_report(experiment):
    assert experiment.plot().to_dict()["title"] == ["Test acc (last): each dot one run; bar: mean, 95% CI"]
    assert experiment.plot("train loss").to_dict()["title"] == [
        "train loss (last): each dot one run; bar: mean, 95% CI"
    ]
    with pytest.raises(BadOption, match="no chart of kind 'sources'"):
        experiment.plot(kind="sources")
    with pytest.raises(BadOption, match="knows no kind"):
        experiment.plot(kind="violin")


def test_a_notebook_shows_how_far_the_runs_are():
    shown = []
    progress = Progress(shown.append, clock=lambda: 0.0)
    first, second = (Run(variant="init", index=index) for index in range(2))
    slot = Slot(index=0, cores=None, gpus=None)
    progress.observe(RunStarted(run=first, slot=slot, number=1, total=3))
    progress.observe(RunProgress(run=first, seconds=5.0, iteration=0, reported=0, values={"test acc": 97.123456}))
    assert shown[-1] == "initialisation, run 0  epoch 1  5 s  test acc 97.12\n0 of 3 done, 1 running"
    progress.observe(RunEnded(run=first, outcome=Completed(seconds=10.0, ended=""), values={"test acc": 97.2}))
    assert shown[-1] == "initialisation, run 0  10 s  test acc 97.2  (1 of 3)\n1 of 3 done   about 20 s left"
    progress.observe(RunStarted(run=second, slot=slot, number=2, total=3))
    progress.observe(RunEnded(run=second, outcome=Failed(seconds=1.0, ended="", reason="exit status 1"), values={}))
    assert shown[-1].splitlines() == [
        "initialisation, run 0  10 s  test acc 97.2  (1 of 3)",
        "initialisation, run 1  1 s  failed: exit status 1  (2 of 3)",
        "2 of 3 done   about 10 s left",
    ]


def test_outside_of_a_notebook_nothing_is_shown():
    assert notebook_observer() is ignore
