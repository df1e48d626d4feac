"""Tables, JSON and logs become runs; what is no run is refused."""

import json
import math
import re
import shlex
from datetime import datetime

import pytest

from deviate.core.errors import BadOption, NotImportable, NotRuns
from deviate.imports.build import propose
from deviate.imports.foreign import ForeignResults, ForeignRun, Reading
from deviate.imports.formats import read_results, sources_of
from deviate.imports.repeated import assumed
from deviate.imports.request import ImportRequest, TableOptions


def read(*paths, patterns=(), kind=None, wanted=(), **options):
    request = ImportRequest(
        paths=list(paths), project=paths[0].parent, table=TableOptions(**options), patterns=tuple(patterns),
        format=kind, metrics=tuple(wanted),
    )  # fmt: skip
    return read_results(request, sources_of(request))


def proposed(*paths, metrics=(), **options):
    request = ImportRequest(
        paths=list(paths), project=paths[0].parent, table=TableOptions(**options), metrics=tuple(metrics)
    )
    sources = sources_of(request)
    return propose(read_results(request, sources), request, sources.kind, datetime.now().astimezone())


@pytest.fixture
def table(tmp_path):
    def write(text, name="results.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def values(results, metric):
    return {run.label: [reading.value for reading in run.readings if reading.metric == metric] for run in results.runs}


def test_a_row_a_run(table):
    results = read(table("seed,test acc,test loss,lr\n0,0.91,0.3,0.1\n1,0.93,0.2,0.1\n"))
    assert values(results, "test acc") == {"seed 0": [0.91], "seed 1": [0.93]}
    assert {reading.metric for run in results.runs for reading in run.readings} == {"test acc", "test loss"}


def test_a_row_an_epoch_of_a_run(table):
    results = read(table("seed,epoch,acc\n0,0,0.1\n0,1,0.2\n1,0,0.3\n1,1,0.4\n"))
    assert [[reading.iteration for reading in run.readings] for run in results.runs] == [[0, 1], [0, 1]]
    assert values(results, "acc") == {"seed 0": [0.1, 0.2], "seed 1": [0.3, 0.4]}


def test_a_long_table(table):
    results = read(table("run,step,metric,value\na,0,acc,0.1\na,0,loss,2\nb,0,acc,0.2\nb,0,loss,nan\n"))
    assert values(results, "acc") == {"a": [0.1], "b": [0.2]}
    assert math.isnan(values(results, "loss")["b"][0])


def test_a_column_of_splits_names_the_metric(table):
    results = read(table("seed,epoch,split,acc\n0,0,train,0.5\n0,0,val,0.4\n1,0,train,0.6\n1,0,val,0.3\n"))
    assert values(results, "val acc") == {"seed 0": [0.4], "seed 1": [0.3]}


def test_semicolons_tabs_percentages_and_a_mark_of_byte_order(table):
    assert values(read(table("\ufeffseed;acc\n0;97.5%\n1;98%\n")), "acc") == {"seed 0": [97.5], "seed 1": [98.0]}
    assert values(read(table("seed\tacc\n0\t1\n1\t2\n", "r.tsv")), "acc") == {"seed 0": [1.0], "seed 1": [2.0]}


def test_an_empty_cell_is_no_value_and_nan_is_one(table):
    """Lightning's CSVLogger leaves cells empty; a training that diverged writes nan."""
    results = read(table("seed,epoch,train loss,val loss\n0,0,1.0,\n0,0,,nan\n1,0,2.0,\n1,0,,3.0\n"))
    assert values(results, "train loss") == {"seed 0": [1.0], "seed 1": [2.0]}
    assert math.isnan(values(results, "val loss")["seed 0"][0])


def test_keras_csv_logger_is_a_file_a_run(table):
    first = table("epoch,accuracy,loss,val_accuracy\n0,0.5,1.0,0.4\n1,0.6,0.9,0.5\n", "seed1.csv")
    second = table("epoch,accuracy,loss,val_accuracy\n0,0.4,1.1,0.3\n", "seed2.csv")
    results = read(first, second)
    assert values(results, "val_accuracy") == {"seed1.csv": [0.4, 0.5], "seed2.csv": [0.3]}


def test_mlflow_and_wandb_exports(table):
    results = read(table("run_id,status,metrics.acc,params.lr,tags.user\na,FINISHED,0.9,0.1,me\nb,FAILED,0.2,0.1,me\n"))
    assert values(results, "acc") == {"a": [0.9], "b": [0.2]}
    assert [run.is_finished for run in results.runs] == [True, False]
    results = read(table("Name,State,Runtime,val acc\nsunny-1,finished,12,0.9\nwindy-2,crashed,3,0.1\n"))
    assert values(results, "val acc") == {"sunny-1": [0.9], "windy-2": [0.1]}
    assert [run.seconds for run in results.runs] == [12.0, 3.0]


def lines(rows):
    return "\n".join(map(json.dumps, rows))


def step_rows(steps, **more):
    return [{"step": step, "loss": 9 / step, **more} for step in steps]


#: Rows with several columns that are called as counters, and the iterations of the loss.
COUNTED = {
    "a count of what was done, equal in most rows": (
        [{"iteration": k, "loss": 9 / k, "train_steps": 200} for k in (1, 2, 3, 4, 1, 2, 3, 4, 5)],
        [[1, 2, 3, 4], [1, 2, 3, 4, 5]],
    ),
    "an epoch in few rows, and a step that stands twice": (
        [*step_rows(range(10, 50, 10)), {"epoch": 1, "step": 45, "val_loss": 4.0}, *step_rows([50, 60, 60, 70, 80]),
         {"epoch": 2, "step": 85, "val_loss": 3.0}],
        [[10, 20, 30, 40, 50, 60, 60, 70, 80]],
    ),
    "evaluations that count epochs by the name of steps": (
        [*step_rows([100, 200], epoch=1, data_time=1), {"acc": 1, "step": 1, "data_time": 1},
         *step_rows([300, 400], epoch=2, data_time=1), {"acc": 2, "step": 2, "data_time": 1}],
        [[100, 200, 300, 400]],
    ),
    "steps that begin again in each epoch": (
        [{"epoch": k, "batch": b, "loss": 9 / (3 * k + b + 1)} for k in (0, 1) for b in range(3)],
        [[0, 0, 0, 1, 1, 1]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTED)
def test_which_of_several_counters_counts(table, case):
    rows, expected = COUNTED[case]
    results = read(table(lines(rows), "log.jsonl"))
    found = [[each.iteration for each in run.readings if each.metric == "loss"] for run in results.runs]
    assert [sorted(each) for each in found] == expected


@pytest.mark.parametrize("rows", ["15,72\n30,77\n30,80\n20,76\n20,75\n15,71\n", "12,0.1\n11,0.3\n6,0.2\n8,0.4\n"])
@pytest.mark.parametrize("name", ["num_epochs", "epochs"])
def test_how_many_epochs_were_set_counts_none(table, name, rows):
    path = table(f"{name},best_acc\n{rows}")
    with pytest.raises(NotRuns, match="may be runs"):
        read(path)
    results = read(path, rows="runs")
    assert len(results.runs) == rows.count("\n")
    assert results.runs[0].settings == {name: rows.partition(",")[0]}


def test_a_list_of_runs_in_which_a_seed_comes_twice(table):
    head = "ID,State,seed,val acc\n"
    results = read(table(head + "1xa2,finished,0,0.9\n2xb3,finished,0,0.8\n3xc4,finished,1,0.7\n"))
    assert values(results, "val acc") == {"1xa2": [0.9], "2xb3": [0.8], "3xc4": [0.7]}
    results = read(table("ID,State,seed,val acc\na,finished,0,0.9\nb,finished,1,0.8\n"))
    assert list(values(results, "val acc")) == ["seed 0", "seed 1"]


def test_the_times_of_rows_name_no_recipes(table):
    rows = "08:38:07,0,0.1\n08:39:07,1,0.2\n08:40:00,0,0.1\n08:41:00,1,0.3\n"
    results = read(table("clock,epoch,acc\n" + rows))
    assert list(values(results, "acc").values()) == [[0.1, 0.2], [0.1, 0.3]]


def test_a_chart_of_wandb_and_a_curve_of_tensorboard(table):
    chart = '"Step","a - acc","a - acc__MIN","a - acc__MAX","b - acc","b - acc__MIN","b - acc__MAX"\n'
    assert values(read(table(chart + "0,0.1,0.1,0.1,0.2,0.2,0.2\n1,0.3,0.3,0.3,,,\n")), "acc") == {
        "a": [0.1, 0.3],
        "b": [0.2],
    }
    curve = "Wall time,Step,Value\n1700000000.5,0,0.1\n1700000010.5,1,0.2\n"
    results = read(table(curve, "run-seed1-tag-acc.csv"), table(curve, "run-seed2-tag-acc.csv"))
    assert values(results, "acc") == {"seed1": [0.1, 0.2], "seed2": [0.1, 0.2]}
    assert results.runs[0].readings[1].elapsed_s == 10.0


def test_the_time_of_the_last_record_is_not_that_of_the_run(table):
    results = read(table("run,metric,iteration,elapsed_s,value\n0,acc,0,4.5,0.9\n1,acc,0,4.1,0.8\n"))
    assert [(run.seconds, run.readings[0].elapsed_s) for run in results.runs] == [(None, 4.5), (None, 4.1)]
    results = read(table("seed,epoch,elapsed,acc\n0,0,4,0.1\n0,1,9,0.2\n1,0,4,0.3\n1,1,8,0.4\n"))
    assert [run.seconds for run in results.runs] == [None, None]


def test_files_without_values_are_runs_that_failed(table):
    good = [table(f"epoch,acc\n0,0.{seed}\n", f"seed{seed}.csv") for seed in (1, 3)]
    empty, head, garbage = (
        table(text, name) for text, name in (("", "seed2.csv"), ("epoch,acc\n\n", "seed4.csv"), ("\0\1\2", "seed5.csv"))
    )
    hollow = table("epoch,acc\n0,\n", "seed6.csv")
    results = read(good[0], empty, good[1], head, garbage, hollow)
    assert [(run.label, run.is_finished) for run in results.runs] == [
        ("seed1.csv", True),
        ("seed2.csv", False),
        ("seed3.csv", True),
        ("seed4.csv", False),
        ("seed5.csv", False),
        ("seed6.csv", False),
    ]
    reasons = [run.broken.replace(str(empty.parent), "") for run in results.runs if not run.is_finished]
    assert reasons == [
        "/seed2.csv has no row below its head",
        "/seed4.csv has no row below its head",
        "/seed5.csv is no text: byte 00 at 0",
        "no value of a metric was found in seed6.csv",
    ]
    with pytest.raises(NotImportable, match=r"seed2\.csv has no row"):
        read(empty, head)
    with pytest.raises(NotImportable, match=r"seed5\.csv is no text"):
        read(garbage)


def test_a_log_that_no_line_matches_is_a_run_that_failed(table):
    paths = [table(text, name) for name, text in (("a.log", "acc 0.1\0\n"), ("b.log", "error\n"), ("c.log", "\0x"))]
    results = read(*paths, patterns=["acc {acc}"])
    assert [(run.label, run.is_finished) for run in results.runs] == [
        ("a.log", True),
        ("b.log", False),
        ("c.log", False),
    ]
    assert "no line of" in results.runs[1].broken
    assert "is no text" in results.runs[2].broken


def test_a_file_that_cannot_be_told_to_a_group_is_named(table):
    rows = "".join(f"{net},{seed},0.{seed}\n" for net in ("a", "b") for seed in (1, 2))
    results = read(table("model,seed,acc\n" + rows), table("", "lost.csv"))
    assert {run.group for run in results.runs} == {"a", "b"}
    assert "lost.csv" in results.notes[0]


def test_columns_may_be_runs(table):
    path = table("epoch,run_1,run_2\n0,0.1,0.2\n1,0.3,0.4\n")
    assert values(read(path, runs_of="acc"), "acc") == {"run_1": [0.1, 0.3], "run_2": [0.2, 0.4]}
    with pytest.raises(BadOption, match="look like runs") as refused:
        read(path)
    assert refused.value.hint == "name their metric: --set 'columns_are_runs=val acc'"
    path = table("lr_0.1,lr_0.01\n0.1,0.2\n0.3,0.4\n")
    with pytest.raises(BadOption, match="look like runs"):
        read(path)
    results = read(path, runs_of="acc", rows="iterations")
    assert [run.settings["config/lr"] for run in results.runs] == ["0.1", "0.01"]


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        (json.dumps({"loss": [2.0, 1.0], "acc": [0.5, 0.75]}), "json", [0.5, 0.75]),
        (json.dumps({"log_history": [{"step": 10, "acc": 0.5}, {"step": 20, "acc": 0.75}]}), "json", [0.5, 0.75]),
        ('{"epoch": 0, "acc": 0.5}\n{"epoch": 1, "acc": 0.75}\n{"epoch": 2, "a', "jsonl", [0.5, 0.75]),
        (json.dumps([{"epoch": 0, "eval": {"acc": 0.5}}, {"epoch": 1, "eval": {"acc": 0.75}}]), "json", None),
    ],
    ids=["keras history", "trainer state", "lines with a torn end", "nested"],
)
def test_json(table, text, suffix, expected):
    results = read(table(text, f"history.{suffix}"))
    name = "acc" if expected else "eval/acc"
    assert [reading.value for reading in results.runs[0].readings if reading.metric == name] == [0.5, 0.75]


def test_logs_by_template_and_by_expression(table):
    path = table(
        "start\n[1] Epoch 3: loss 0.25, took 9 s, val acc: 91.5%\n[2] Epoch 4: loss nan, val acc: 92%\n", "a.log"
    )
    results = read(path, patterns=["Epoch {epoch}: loss {loss}, ... val acc: {val acc}%"])
    assert values(results, "val acc") == {"a.log": [91.5, 92.0]}
    results = read(path, patterns=[r"Epoch (?P<epoch>\d+).*val acc: (?P<acc>[\d.]+)"])
    assert values(results, "acc") == {"a.log": [91.5, 92.0]}
    assert [reading.iteration for reading in results.runs[0].readings] == [3, 4]


def test_a_log_of_several_runs_and_of_lines_without_an_epoch(table):
    path = table("seed 0\nacc 0.1\nacc 0.2\nseed 1\nacc 0.3\r acc 0.4\n", "all.log")
    results = read(path, patterns=["seed {seed}", "acc {acc}"])
    assert values(results, "acc") == {"seed 0": [0.1, 0.2], "seed 1": [0.4]}
    assert [reading.iteration for reading in results.runs[0].readings] == [0, 1]


def test_groups_are_experiments_where_each_has_several_runs(table):
    text = "model,seed,acc\nresnet,0,0.1\nresnet,1,0.2\nvgg,0,0.3\nvgg,1,0.4\n"
    assert [(run.group, run.label) for run in read(table(text)).runs] == [
        ("resnet", "seed 0"),
        ("resnet", "seed 1"),
        ("vgg", "seed 0"),
        ("vgg", "seed 1"),
    ]


def test_a_setting_that_differs_between_runs_is_named(table):
    notes = proposed(table("seed,optim,acc\n0,adam,0.1\n1,adam,0.2\n2,sgd,0.3\n"))[0].experiment.imported.notes
    assert notes[0].startswith(
        "'optim' (adam, sgd) differs between runs: if that was set, these are at least 2 settings in 3"
    )


REFUSED = {
    "epochs as runs": ("epoch,acc\n0,0.1\n1,0.2\n", {"run": ("epoch",)}, "counts iterations"),
    "steps as runs": ("global_step,acc\n0,0.1\n1,0.2\n", {"run": ("global_step",)}, "counts iterations"),
    "folds as runs": ("fold,acc\n0,0.1\n1,0.2\n", {"run": ("fold",)}, "counts folds"),
    "examples as runs": ("image_id,correct\n0,1\n1,0\n", {"run": ("image_id",)}, "counts test examples"),
    "folds found": ("fold,acc\n0,0.1\n1,0.2\n", {}, "counts folds"),
    "folds of each seed": ("seed,fold,acc\n0,0,0.1\n0,1,0.2\n", {}, "counts folds"),
    "test examples of each seed": ("seed,example,acc\n0,0,0.1\n0,1,0.2\n", {}, "counts test examples"),
    "folds side by side": ("seed,fold_1,fold_2\n0,0.1,0.2\n", {}, "are folds"),
    "epochs side by side": ("seed,epoch_1,epoch_2\n0,0.1,0.2\n", {}, "are iterations"),
    "rows that may be anything": ("acc\n0.1\n0.2\n", {}, "the 2 rows of .* may be runs"),
    "rows of epochs called runs": ("epoch,acc\n0,0.1\n1,0.2\n", {"rows": "runs"}, "its rows are no runs"),
    "many values a run": ("seed,acc\n0,0.1\n0,0.2\n1,0.3\n", {}, "has 2 values of 'acc'"),
    "two trainings of one seed": (
        "seed,epoch,net,acc\n0,0,a,0.1\n0,0,b,0.2\n",
        {},
        "its rows are of several trainings",
    ),
}


@pytest.mark.parametrize(("text", "options", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_run_is_refused_with_the_reason(table, text, options, message):
    with pytest.raises(NotRuns, match=message) as refused:
        read(table(text), **options)
    assert refused.value.hint


def test_one_fold_or_the_mean_over_folds_is_taken(table):
    path = table("seed,fold,acc\n0,0,0.1\n0,1,0.3\n1,0,0.5\n1,1,0.9\n")
    assert values(read(path, where=(("fold", "0"),)), "acc") == {"seed 0": [0.1], "seed 1": [0.5]}
    averaged = values(read(path, mean_over=("fold",)), "acc")
    assert averaged == {"seed 0": [pytest.approx(0.2)], "seed 1": [pytest.approx(0.7)]}


def test_a_column_that_rows_are_taken_or_averaged_by_is_no_metric(table):
    path = table("seed,fold,acc\n0,0,0.1\n0,1,0.3\n1,0,0.5\n1,1,0.9\n")
    for options in ({"where": (("fold", "0"),)}, {"mean_over": ("fold",)}):
        assert {reading.metric for run in read(path, **options).runs for reading in run.readings} == {"acc"}


def test_folds_without_a_seed_are_one_run_a_file(table):
    first, second = (table(f"kfold,acc\n0,{acc}\n1,{acc + 0.2}\n", f"{acc}.csv") for acc in (0.1, 0.5))
    with pytest.raises(NotRuns) as refused:
        read(first, second)
    assert "--set where=kfold=0; or the mean of each run: --set mean_over=kfold" in refused.value.hint
    averaged = values(read(first, second, mean_over=("kfold",)), "acc")
    assert averaged == {"0.1.csv": [pytest.approx(0.2)], "0.5.csv": [pytest.approx(0.6)]}
    assert values(read(first, where=(("kfold", "0"),)), "acc") == {"0.1.csv": [0.1]}
    with pytest.raises(NotRuns, match=r"the 2 rows of .* may be runs"):
        read(table("fold,acc\n0,0.1\n0,0.2\n"), mean_over=("fold",))


def test_a_comma_before_decimals_is_a_point(table):
    results = read(table("seed;acc\n0;0,91\n1;1\n"))
    assert values(results, "acc") == {"seed 0": [0.91], "seed 1": [1.0]}


def test_a_comma_that_may_part_thousands_is_not_read(table):
    with pytest.raises(NotImportable, match="column 'score' holds numbers with a comma"):
        read(table("seed;score\n0;1,912\n1;1,913\n"))
    results = read(table("seed;acc;loss\n0;1,912;0.1\n1;1,921;0.2\n"))
    assert "'acc' is left out" in results.notes[0]


def test_columns_of_runs_beside_their_mean(table):
    results = read(table("metric,run1,run2,mean,std\nacc,0.91,0.92,0.915,0.01\nf1,0.81,0.82,0.815,0.01\n"))
    assert list(values(results, "f1").values()) == [[0.81], [0.82]]


def test_a_run_column_of_a_long_table_must_tell_runs_apart(table):
    path = table("run,step,metric,value\na,0,acc,0.1\nb,0,acc,0.2\n")
    for name, holds in (("metric", "names"), ("value", "values")):
        with pytest.raises(BadOption, match=f"--run-column '{name}': .* holds the {holds} of the metrics") as refused:
            read(path, run=(name,))
        assert refused.value.hint.endswith("one of: run, step")


def test_a_folder_of_tables_is_answered_with_its_files(table, tmp_path):
    (tmp_path / "logs" / "a").mkdir(parents=True)
    table("seed,acc\n0,1\n", "logs/a/r.csv")
    table("seed,loss\n0,1\n", "logs/a/s.csv")
    for kind in (None, "csv"):
        with pytest.raises(NotImportable) as refused:
            read(tmp_path / "logs", kind=kind)
        assert f"name its files: deviate import {tmp_path.as_posix()}/logs/" in refused.value.hint
    with pytest.raises(NotImportable) as refused:
        read(tmp_path / "logs")
    assert refused.value.hint.endswith("/logs/*/*.csv")


def test_rows_called_runs_that_climb_like_epochs_are_said_to(table):
    climbing = "acc\n" + "".join(f"{0.5 + row / 50}\n" for row in range(10))
    assert "as it does over the epochs" in read(table(climbing), rows="runs").notes[0]
    assert not read(table("acc\n" + "0.9\n0.7\n0.8\n0.95\n0.75\n0.85\n0.72\n0.88\n"), rows="runs").notes


def test_seeds_whose_values_lie_in_their_order_are_runs(table):
    rows = [f"{seed},{94.1 - seed**0.5 / 10}" for seed in range(20)]
    assert len(read(table("seed,test acc\n" + "\n".join(rows))).runs) == 20


BAD = {
    "no head": ("0.1,0.2\n0.3,0.4\n", {}, "no names of columns"),
    "only a head": ("seed,acc\n", {}, "no row below its head"),
    "two columns of one name": ("acc,acc\n1,2\n", {}, "two columns named 'acc'"),
    "no metric": ("seed,lr\n0,0.1\n1,0.1\n", {}, "no column holds the values"),
    "half an epoch": ("seed,epoch,acc\n0,0.5,0.1\n", {"iteration": "epoch"}, "counts iterations and holds '0.5'"),
    "nothing left": ("seed,acc\n0,0.1\n", {"where": (("seed", "7"),)}, "no row has seed=7"),
}


@pytest.mark.parametrize(("text", "options", "message"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_read_says_so(table, text, options, message):
    with pytest.raises(NotImportable, match=message) as refused:
        read(table(text), **options)
    assert refused.value.hint


def test_a_column_that_is_not_there_is_answered_with_those_that_are(table):
    with pytest.raises(BadOption) as refused:
        read(table("seed,acc\n0,0.1\n"), run=("sed",))
    assert "seed, acc" in refused.value.hint


def test_a_pattern_that_cannot_match_is_refused(table):
    path = table("Epoch 1\n", "a.log")
    with pytest.raises(NotImportable, match="no line"):
        read(path, patterns=["loss {loss}"])
    with pytest.raises(BadOption, match="names no value"):
        read(path, patterns=["loss"])
    with pytest.raises(NotImportable, match="does not show what it is"):
        read(path)


# Which rows are of one training


def refusal(path, **options):
    try:
        read(path, **options)
    except NotRuns as refused:
        return refused.message, refused.hint
    return None


def shown(results):
    return {
        run.label: [(reading.iteration, reading.value) for reading in run.readings if reading.metric == "loss"]
        for run in results.runs
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "update,loss\n10,2\n20,1\n30,0.5\n10,2.1\n20,1.1\n30,0.6\n"),
        ("a.jsonl", "".join(f'{{"update": {u}, "loss": {v}}}\n' for u, v in [(10, 2), (20, 1), (30, 0.5), (10, 2.1),
                                                                          (20, 1.1), (30, 0.6)])),
        ("a.log", "".join(f"update {u} | loss {v}\n" for u, v in [(10, 2), (20, 1), (30, 0.5), (10, 2.1), (20, 1.1),
                                                                  (30, 0.6)])),
    ],
)  # fmt: skip
def test_a_counter_that_begins_again_is_of_another_training(table, name, text):
    results = read(table(text, name))
    assert list(shown(results).values()) == [[(10, 2), (20, 1), (30, 0.5)], [(10, 2.1), (20, 1.1), (30, 0.6)]]
    assert any("holds 2 trainings: 'update' begins again" in note for note in results.runs[0].notes)


def test_a_counter_that_goes_back_a_little_is_of_a_training_that_was_resumed(table):
    rows = "0,2\n1,1.5\n2,1.2\n3,1\n"
    results = read(table(f"epoch,loss\n{rows}epoch,loss\n2,1.25\n3,0.9\n4,0.8\n"))
    assert [reading.value for reading in results.runs[0].readings] == [2, 1.5, 1.2, 1, 1.25, 0.9, 0.8]
    assert "was resumed: 'epoch' goes back from 3 to 2" in results.runs[0].notes[0]
    assert "'epoch' is 3 again" in read(table(f"epoch,loss\n{rows}3,1.01\n4,0.8\n")).runs[0].notes[0]


def test_a_training_ends_where_its_last_start_does(table):
    starts = ((0, 9, 2.0), (3, 7, 1.7), (5, 8, 1.5))
    rows = [f"{epoch},{value - 0.1 * (epoch - low)}" for low, high, value in starts for epoch in range(low, high)]
    (run,) = read(table("epoch,loss\n" + "\n".join(rows) + "\n")).runs
    assert [reading.iteration for reading in run.readings][-3:] == [5, 6, 7]
    assert max(reading.iteration for reading in run.readings) == 7
    assert run.notes[0].endswith("Values beyond its end are left out: 1.")


def test_a_counter_and_values_that_disagree_leave_two_readings_each_of_which_can_be_typed(table):
    path = table(
        "epoch,loss\n" + "".join(f"{e},{v}\n" for e, v in enumerate([2, 1.5, 1.1, 0.8, 0.6])) + "0,0.61\n1,0.5\n"
    )
    with pytest.raises(NotRuns, match="goes back from 4 to 0, and the values go on"):
        read(path)
    assert len(read(path, iteration="epoch").runs) == 2
    (run,) = read(path, rows="iterations").runs
    assert [reading.iteration for reading in run.readings] == list(range(7))


def test_the_splits_of_one_training_count_apart(table):
    block = "".join(f"{split},{epoch},{epoch}\n" for split in ("train", "val") for epoch in range(3))
    assert len(read(table(f"split,epoch,score\n{block}")).runs) == 1
    assert len(read(table(f"split,epoch,score\n{block}{block}")).runs) == 2


def test_a_run_is_of_its_file_and_column_where_that_is_the_same_in_each(table):
    paths = [table(f"seed,epoch,loss\n7,0,2\n7,1,1.{k}\n", f"r{k}.csv") for k in range(3)]
    results = read(*paths)
    assert list(shown(results)) == ["seed 7, r0.csv", "seed 7, r1.csv", "seed 7, r2.csv"]
    halves = [table("seed,acc\n0,1\n1,2\n", "a.csv"), table("seed,loss\n0,3\n1,4\n", "b.csv")]
    assert shown(read(*halves)) == {"seed 0": [(-1, 3)], "seed 1": [(-1, 4)]}


@pytest.mark.parametrize(
    ("text", "metrics", "last"),
    [
        ("epoch,step,loss,acc\n0,49,3,\n0,49,,1\n1,99,2,\n1,99,,2\n", {"loss", "acc"}, 1),
        ("epoch,loss\n0.5,3\n1.0,2\n1.5,1\n", {"loss"}, 2),
        ("TotalEnvSteps,loss,t\n4000,3,1.5\n8000,2,2.5\n", {"loss"}, 8000),
    ],
    ids=["two counters", "fractions", "a long name"],
)
def test_the_column_of_iterations_is_chosen_by_its_values(table, text, metrics, last):
    (run,) = read(table(text)).runs
    assert {reading.metric for reading in run.readings} == metrics
    assert run.readings[-1].iteration == last


def test_rows_of_two_kinds_count_each_by_its_own(table):
    rows = [{"epoch": 1, "iter": 5, "loss": 3}, {"epoch": 1, "acc": 0.5}, {"epoch": 2, "iter": 10, "loss": 2},
            {"epoch": 2, "acc": 0.6}]  # fmt: skip
    results = read(table("\n".join(map(json.dumps, rows)), "log.jsonl"))
    assert values(results, "acc") == {"log.jsonl": [0.5, 0.6]}
    assert {reading.metric for reading in results.runs[0].readings} == {"loss", "acc"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.log", "epoch,loss\n0,2\n1,1\n"),
        ("p.dat", "# epoch   loss\n0   2.0\n1   1.0\n"),
        ("p.txt", "started\nepoch\tloss\n0\t2\n1\t1\n"),
        ("p.md", "| epoch | loss |\n|---|---|\n| 0 | 2 |\n| 1 | 1 |\n"),
        ("p", '{"epoch": 0, "loss": 2}\n{"epoch": 1, "loss": 1}\n'),
        ("q.log", "lr=0.1\nINFO Epoch: [0] loss: 2.0 (2.1)\nINFO Epoch: [1] loss: 1.0 (1.5)\n"),
        ("r.log", ':::MLLOG {"key": "loss", "value": 2, "metadata": {"epoch_num": 0}}\n'
         ':::MLLOG {"key": "loss", "value": 1, "metadata": {"epoch_num": 1}}\n'),
    ],
)  # fmt: skip
def test_what_a_file_is_shows_in_what_it_holds(table, name, text):
    assert shown(read(table(text, name))) == {name: [(0, 2), (1, 1)]}


def test_columns_in_capitals_are_metrics_and_settings_are_said_to_be_left_out(table):
    results = read(table("seed,GAP,LR,acc,acc_stderr\n0,1,0.1,2,9\n1,2,0.1,3,9\n"))
    assert {reading.metric for run in results.runs for reading in run.readings} == {"GAP", "acc"}
    assert results.notes == ["No metrics: LR (settings); acc_stderr (standard errors). --metric LR takes one in."]


def test_rows_that_summarise_the_others_are_no_runs(table):
    results = read(table("seed,acc\n0,1\n1,3\nmean,2\nStd. dev.,1.4\nMinimum,1\nMaximum,3\n"))
    assert values(results, "acc") == {"seed 0": [1], "seed 1": [3]}
    assert "Maximum, Minimum, Std. dev., mean" in results.notes[0]


def test_lists_of_values_are_asked_about_unless_they_fall_as_a_loss_does(table):
    path = table(json.dumps({"Orbit": [12.0, 15.5, 11.0], "River": [4.0, 4.5, 3.9]}), "scores.json")
    with pytest.raises(NotRuns, match=r"the 3 rows of scores\.json may be runs"):
        read(path)
    assert len(read(path, rows="runs").runs) == 3
    assert len(read(path, rows="iterations", wanted=("Orbit", "River")).runs) == 1


def test_an_object_of_runs_and_an_object_of_series_are_read(table):
    by_key = {f"seed_{k}": {"step": [0, 1], "loss": [2, k]} for k in range(2)}
    assert shown(read(table(json.dumps(by_key), "a.json"))) == {"seed 0": [(0, 2), (1, 0)], "seed 1": [(0, 2), (1, 1)]}
    sacred = {"loss": {"steps": [0, 5], "timestamps": ["a", "b"], "values": [2, 1]}}
    assert shown(read(table(json.dumps(sacred), "b.json"))) == {"b.json": [(0, 2), (5, 1)]}


def test_the_files_of_one_name_below_a_folder_are_its_runs_with_what_was_set_beside_them(table, tmp_path):
    for k in (1, 2):
        (tmp_path / "runs" / str(k)).mkdir(parents=True)
        table(json.dumps({"seed": k, "lr": k / 10}), f"runs/{k}/config.json")
        table("epoch,loss\n0,2\n1,1\n", f"runs/{k}/log.csv")
    (proposal,) = proposed(tmp_path / "runs")
    assert [run.label for run in proposal.runs] == ["seed 1", "seed 2"]
    assert "'config/lr' (0.1, 0.2) differs" in proposal.experiment.imported.notes[0]


def test_files_that_differ_by_a_step_are_one_training_unless_each_is_said_to_be_one(table):
    paths = [table(json.dumps({"acc": k}), f"s{seed}_step{k}k.json") for seed in (0, 1) for k in (1, 2)]
    results = read(*paths)
    assert [[reading.iteration for reading in run.readings] for run in results.runs] == [[1000, 2000]] * 2
    assert "--run-column file" in results.notes[0]
    assert len(read(*paths, run=("file",)).runs) == 4


def test_files_of_programs_that_began_together_are_asked_about(table):
    head = '#{"t_start": 1700000000.%d, "env_id": "P"}\nr,l,t\n'
    paths = [table(head % k + "".join(f"{k + row},9,{row}.5\n" for row in range(5)), f"{k}.csv") for k in range(2)]
    with pytest.raises(NotRuns, match="began together"):
        read(*paths)
    (run,) = read(*paths, mean_over=("file",)).runs
    assert [reading.value for reading in run.readings if reading.metric == "r"] == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert len(read(*paths, run=("file",)).runs) == 2


def test_files_of_folds_and_of_workers_are_asked_about(table):
    for word, message in (("fold", "count folds"), ("rank", "parallel parts of one")):
        paths = [
            table(f"epoch,loss\n0,{number}\n1,{number + seed}\n", f"s{seed}_{word}{number}.csv")
            for seed in (0, 4)
            for number in (1, 3)
        ]
        with pytest.raises(NotRuns, match=message):
            read(*paths)
        assert shown(read(*paths, mean_over=("file",))) == {"s0.csv": [(0, 2), (1, 2)], "s4.csv": [(0, 2), (1, 6)]}
        assert len(read(*paths, run=("file",)).runs) == 4


def test_files_that_count_on_and_single_rows_at_equal_distances_are_asked_about(table):
    halves = [table("epoch,loss\n2,3\n3,2\n", "b.csv"), table("epoch,loss\n0,5\n1,4\n", "a.csv")]
    with pytest.raises(NotRuns, match=r"a\.csv to b\.csv count on from one to the next in 'epoch'"):
        read(*halves)
    assert sorted(*shown(read(*halves, mean_over=("file",))).values()) == [(0, 5), (1, 4), (2, 3), (3, 2)]
    assert len(read(*halves, run=("file",)).runs) == 2
    singles = [table(json.dumps({"step": 100 * k, "loss": k}), f"{name}.json") for k, name in enumerate("xyz")]
    with pytest.raises(NotRuns, match="have one row each, at equal distances in 'step'"):
        read(*singles)
    assert len(read(*singles, mean_over=("file",)).runs) == 1


def test_a_column_of_numbers_that_is_another_in_each_training_names_them(table):
    rows = "".join(f"{agent},{episode},{9 - episode}.{agent}\n" for agent in (3, 4) for episode in range(4))
    results = read(table(f"agent_no,episode,loss\n{rows}"))
    assert [run.label for run in results.runs] == ["results.csv, agent_no 3", "results.csv, agent_no 4"]
    assert {reading.metric for run in results.runs for reading in run.readings} == {"loss"}


def test_the_values_of_a_log_are_named_by_the_split_before_them(table):
    text = "".join(f"Train Epoch: {k} loss: {k}.5\nTest set: loss: {k}.7\n" for k in (1, 2)) + "Best: acc 0.9\n"
    results = read(table(text, "m.log"))
    assert values(results, "train loss") == {"m.log": [1.5, 2.5]}
    assert values(results, "test loss") == {"m.log": [1.7, 2.7]}
    assert values(results, "acc") or values(results, "test acc")


def test_a_wide_table_with_a_row_a_metric_and_a_column_a_run(table):
    results = read(table("metric,seed1,seed2\nacc,0.5,0.6\nf1,0.7,0.8\n"))
    assert values(results, "f1") == {"seed1": [0.7], "seed2": [0.8]}


def test_settings_are_said_of_the_runs_of_each_experiment(table):
    rows = "".join(f"{k},{'ab'[k // 2]},{64 * (1 + k // 2)},0.{k}\n" for k in range(4))
    path = table(f"run,recipe,width,acc\n{rows}")
    (together,) = proposed(path)
    assert "'recipe' (a, b), 'width' (64, 128) differ between runs" in together.experiment.imported.notes[0]
    apart = [note for each in proposed(path, experiment="recipe") for note in each.experiment.imported.notes]
    assert apart == ["No metrics: width (settings). --metric width takes one in."] * 2
    names = [table(f"epoch,acc\n0,0.{k}\n", f"{net}_seed{k}.csv") for net in ("deep", "wide") for k in range(2)]
    with pytest.raises(NotRuns) as asked:
        proposed(*names)
    assert "show 2 recipes (deep, wide)" in asked.value.message
    assert "--experiment-column file if each file is of its own, --run-column file if all are" in asked.value.hint
    assert f"name the files of one recipe: {names[0].name}" in asked.value.hint
    assert [len(each.runs) for each in proposed(*names, experiment="file")] == [1] * 4
    assert "show 2 recipes (deep, wide)" in proposed(*names, run=("file",))[0].experiment.imported.notes[0]


def test_what_is_said_of_a_file_is_said_of_its_experiment_alone(table):
    rows = {"a": [*range(4), *range(4)], "b": range(4)}
    paths = [table("epoch,loss\n" + "".join(f"{e},{4 - e}\n" for e in each), f"{k}.csv") for k, each in rows.items()]
    notes = [proposal.experiment.imported.notes for proposal in proposed(*paths, experiment="file")]
    assert [any("holds 2 trainings" in note for note in each) for each in notes] == [True, False]


def test_a_row_without_values_among_those_of_runs_is_a_remark(table):
    rows = [{"at": "2024-01-31T08:38:07+00:00", "remark": "begun"}]
    rows += [{"run_id": run, "epoch": e, "acc": e / 8} for run in ("first", "second") for e in range(3)]
    results = read(table("\n".join(map(json.dumps, rows)), "m.jsonl"))
    assert values(results, "acc") == {"first": [0, 0.125, 0.25], "second": [0, 0.125, 0.25]}


HINTS = {
    "a row a data set": "set,acc\nx,1\ny,2\n",
    "numbers": "k,acc\n1,1\n2,3\n3,2\n",
    "two of a seed": "seed,acc\n0,1\n0,2\n1,3\n",
    "recipes at one epoch": "epoch,net,acc\n0,a,1\n0,b,2\n",
    "recipes in turn": "epoch,net,acc\n0,a,1\n1,a,2\n0,b,2\n1,b,3\n",
    "twice": "epoch,acc\n0,1\n0,2\n1,3\n",
    "folds": "seed,fold,acc\n0,0,1\n0,1,2\n",
    "parts": "epoch,part,acc\n0,1,1\n0,2,2\n1,1,3\n1,2,4\n",
    "goes on": "epoch,loss\n0,9\n1,7\n2,5\n3,3\n4,2\n0,2\n1,1\n",
    "sets and methods": "set,method,acc\n"
    + "".join(f"{a},{b},{k}\n" for k, a, b in ["0xp", "1xq", "2xr", "3yp", "4yq", "5yr"]),
    "seeds of sets and methods": "seed,set,net,acc\n"
    + "".join(f"{s},{a},{b},{s}.{k}\n" for s in (1, 2) for k, a, b in ["0xp", "1xq", "2yp", "3yq"]),
    "recipes twice over": "epoch,net,unit,acc\n"
    + "".join(f"{e},{a},{b},{e}.{k}\n" for k, a, b in ["0xp", "1xq", "2yp", "3yq"] for e in (0, 1)),
    "folds of recipes": "seed,fold,net,acc\n" + "".join(f"1,{f},{n},0.{f}\n" for n in "xy" for f in (1, 2)),
    "a counter without the name of one": "cycle,loss\n" + "".join(f"{c},{9 - c}.5\n" for c in range(1, 6)),
    "runs of one name": "name,batch_size,steps,acc\n" + "".join(f"r{max(k, 2)},{k},{9 * k},{k}\n" for k in range(9)),
    "methods by number": "iter,method,acc\n" + "".join(f"{k},{m},{k}\n" for k, m in enumerate(["owl", "fox", "hen"])),
    "begun again, and resumed": "epoch,acc\n" + "".join(f"{e},{k}\n" for k, e in enumerate([0, 1, 2, 0, 1, 2, 1, 2])),
    "a grid": "p,k,acc\n" + "".join(f"{p},{k},{p * k}\n" for p in (0.25, 0.75) for k in (3, 7, 9)),
    "seeds of a grid": "seed,p,k,acc\n"
    + "".join(f"{s},{p},{k},{p * k + s}\n" for s in (1, 2) for p in (0.25, 0.75) for k in (3, 7, 9)),
    "begins again within": "ep,total_steps,loss\n"
    + "".join(f"{e},{9 * s + e},{9 / (e + 1)}\n" for s in (0, 1) for e in range(6)),
    "near its start": "epoch,loss,f1\n"
    + "".join(f"{e},{9 / (e + 1 - s)},{e}\n" for s in (0, 2) for e in range(s, 10)),
    "parts by a column": "run,epoch,loss\n" + "".join(f"{e // 3},{e},{9 - e}\n" for e in range(9)),
    "a seed in each row": "seed,epoch,loss\n" + "".join(f"{97 * e % 31},{e},{9 - e}\n" for e in range(9)),
    "episodes": "trial,step,reward\n" + "".join(f"{k},{s},{k * k + s}\n" for k in range(9) for s in range(3 + k)),
    "a training in each column": "epoch,fox,owl\n" + "".join(f"{e},{9 - e},{8 - e}\n" for e in range(5)),
    "a search": "iter,lr,acc\n" + "".join(f"{e},{12 * e % 31},{31 * e % 7}\n" for e in range(12)),
    "dates": "time,acc\n" + "".join(f"{1.7e9 + k},{31 * k % 7}\n" for k in range(9)),
    "lengths": "epochs,acc\n5,1\n10,2\n15,3\n",
    "all among seeds": "seed,acc\n1,5\n2,6\n3,7\nall,6\n",
    "two at once": "step,loss\n" + "".join(f"{10 * e},{e}.1\n{10 * e - 15},{e}.2\n" for e in range(2, 9)),
    "the best again": "epoch,acc\n" + "".join(f"{e},{e}.1\n" for e in (*range(9), 5)),
}  # fmt: skip

NAMES = {
    "iteration_column": "iteration", "experiment_column": "experiment", "run_column": "run", "metric": "wanted",
    "columns_are_runs": "runs_of",
}  # fmt: skip


def typed(options, alternative):
    """Add what one alternative of a hint says to the options typed so far."""
    together = dict(options)
    for option, word in re.findall(r"--(set '?[a-z_]+=|(?!set )[a-z-]+ )((?:'[^']*'|\S)+?)(?=[,;]| |$)", alternative):
        if word in ("with", "if"):
            continue
        key = option.removeprefix("set ").strip("' =").replace("-", "_")
        (value,) = shlex.split(f"'{word}" if "'" in option else word)
        name = NAMES.get(key, key)
        several = (tuple(value.split("=")),) if name == "where" else (value,)
        known = together.get(name, ())
        together[name] = (*known, *(each for each in several if each not in known)) if name in (
            "run", "mean_over", "where", "wanted"
        ) else value  # fmt: skip
    return together


def follow(path, options, before):
    """Type each alternative of a hint until the file is read; none may lead back."""
    refused = refusal(path, **options)
    if refused is None:
        return
    assert refused not in before, (options, refused)
    assert len(before) < 4, options
    alternatives = [part for part in re.split(r"[;,] (?=--|or |the mean)|: (?=--)", refused[1]) if "--" in part]
    added = [typed(options, part) for part in alternatives]
    assert any(each != options for each in added), refused
    for each in added:
        if each != options:
            follow(path, each, [*before, refused])


@pytest.mark.parametrize("text", HINTS.values(), ids=HINTS.keys())
def test_every_hint_when_typed_leads_on(table, text):
    path = table(text)
    with pytest.raises(NotRuns):
        read(path)
    follow(path, {}, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,swap_prob,acc\na_02,0.2,0.71\na_04,0.4,0.74\na_06,0.6,0.72\n", "'swap_prob' (0.2, 0.4, 0.6)"),
        (
            "name,acc\nnet_adam_x,0.71\nnet_adam_y,0.74\nnet_sgd_x,0.72\nnet_wide,0.73\n",
            "show 3 recipes (adam, sgd, wide)",
        ),
    ],
    ids=["numbers at equal distances", "words of names that some runs share"],
)
def test_settings_that_no_name_calls_so_are_said(table, text, said):
    (proposal,) = proposed(table(text))
    assert any(said in note for note in proposal.experiment.imported.notes)


def test_two_ways_to_write_a_setting_are_one_and_a_seed_that_comes_twice_is_said_once(table, tmp_path):
    for run, (seed, word) in enumerate([(3, "true"), (3, "True"), (4, "true")]):
        (tmp_path / f"r{run}").mkdir()
        table(f"epoch,loss\n0,{run + 2}\n1,{run + 1}\n", f"r{run}/log.csv")
        table(json.dumps({"seed": seed, "nesterov": word, "limit": "nan"}), f"r{run}/args.json")
    (proposal,) = proposed(*sorted(tmp_path.glob("r*/log.csv")))
    notes = proposal.experiment.imported.notes
    assert not any("nesterov" in note for note in notes)
    assert sum("seed 3" in note.lower() for note in notes) == 1


def test_what_counts_or_was_set_is_no_metric_in_a_long_table_either(table):
    text = "run,step,metric,value\n" + "".join(
        f"{run},{step},{name},{step + 1}\n" for run in "ab" for step in (0, 1) for name in ("loss", "lr", "epoch")
    )
    (proposal,) = proposed(table(text))
    assert [metric.name for metric in proposal.experiment.metrics] == ["loss"]
    assert "No metrics: lr (settings); epoch (counters)." in " ".join(proposal.experiment.imported.notes)


def test_the_hint_for_a_folder_names_files_that_are_there(table, tmp_path):
    for run in (1, 2):
        (tmp_path / "runs" / str(run)).mkdir(parents=True)
        table(json.dumps({"config": {"lr": 0.5}}), f"runs/{run}/config.json")
        table(json.dumps({"acc": {"steps": [0, 1], "values": [0.5, 0.25 * run]}}), f"runs/{run}/metrics.json")
    (tmp_path / "runs" / "events.out.tfevents.1").write_text("")
    (tmp_path / "logs").mkdir()
    for run in (1, 2):
        table("epoch 0 loss 0.9\nepoch 1 loss 0.8\n", f"logs/result_{run}.txt")
    assert len(read(tmp_path / "runs", kind="json").runs) == 2
    with pytest.raises(NotImportable) as refused:
        read(tmp_path / "logs", kind="log")
    pattern = refused.value.hint.rpartition("deviate import ")[2].removeprefix(f"{tmp_path}/")
    assert len(read(*sorted(tmp_path.glob(pattern))).runs) == len(read(tmp_path / "logs").runs) == 2, pattern


@pytest.mark.parametrize("names", [["train"], ["a b", "c"], [f"run_{k}" for k in range(6)]], ids=len)
def test_the_hint_for_a_folder_names_the_files_with_results_alone(table, tmp_path, names):
    (tmp_path / "my out").mkdir()
    for name in ("vocab", "index"):
        table(json.dumps({"a": 1, "b": 2}), f"my out/{name}.json")
    for name in names:
        table(json.dumps([{"epoch": 0, "loss": 2}, {"epoch": 1, "loss": 1}]), f"my out/{name}.json")
        table("\x00what macOS notes", f"my out/._{name}.json")
    assert len(read(tmp_path / "my out").runs) == len(names)
    with pytest.raises(NotImportable) as refused:
        read(tmp_path / "my out", kind="json")
    typed_paths = shlex.split(refused.value.hint.rpartition("deviate import ")[2])
    found = [path for each in typed_paths for path in tmp_path.glob(each.removeprefix(f"{tmp_path}/"))]
    assert sorted(path.stem for path in found) == sorted(names)


def test_files_of_settings_are_no_results_of_the_folders_they_are_in(table, tmp_path):
    for run in (1, 2):
        (tmp_path / "runs" / str(run)).mkdir(parents=True)
        table(json.dumps({"epsilon_start": 0.5, "buffer": 256}), f"runs/{run}/config.json")
        table(json.dumps({"accuracy": 0.9 + run / 100}), f"runs/{run}/info.json")
    assert values(read(tmp_path / "runs"), "accuracy") == {
        f"{tmp_path}/runs/{run}/info.json": [0.9 + run / 100] for run in (1, 2)
    }


def test_a_pointer_of_git_lfs_is_said_to_be_one(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "events.out.tfevents.1").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(NotImportable) as refused:
        read(folder)
    assert "git lfs pull" in refused.value.hint


def test_names_of_columns_apart_from_rows_are_a_table(table):
    text = json.dumps({"columns": ["seed", "acc"], "data": [[1, 0.5], [2, 0.75]]})
    assert values(read(table(text, "r.table.json")), "acc") == {"seed 1": [0.5], "seed 2": [0.75]}


def test_the_line_of_the_source_that_wrote_an_event_of_mlperf_tells_no_trainings_apart(table):
    events = [
        ("global_batch_size", 64, {"file": "setup.py", "lineno": 1}),
        ("global_batch_size", 64, {"file": "fit.py", "lineno": 2}),
        *(("eval_accuracy", 0.1 * epoch, {"file": "fit.py", "lineno": 3, "epoch_num": epoch}) for epoch in (1, 2, 3)),
        ("run_stop", None, {"file": "fit.py", "lineno": 4, "status": "aborted"}),
    ]
    lines = [
        ":::MLLOG " + json.dumps({"key": key, "value": value, "event_type": "POINT_IN_TIME", "metadata": metadata})
        for key, value, metadata in events
    ]
    (run,) = read(table("\n".join(lines), "result_0.txt")).runs
    last = max((each for each in run.readings if each.metric == "eval_accuracy"), key=lambda each: each.iteration)
    assert (run.status, last.iteration, round(last.value, 6)) == ("aborted", 3, 0.3)


@pytest.mark.parametrize("text", ["epoch\tloss\tacc\n0\t9\t0.5\t0.4\n1\t8\t0.6\t0.5\n", "a,b\n1,0.5,0.6\n2,0.4,0.7\n"])
def test_a_row_with_more_values_than_names_is_refused(table, text):
    with pytest.raises(NotImportable, match=r"names [23] columns"):
        read(table(text))
    assert values(read(table("epoch,acc,\n0,0.5,\n1,0.6,\n")), "acc")


def test_settings_alone_are_no_results(tmp_path):
    named = [Reading("config/seed", 0, 3.0), Reading("config/lr", 0, 0.1)]
    results = ForeignResults(runs=[ForeignRun(label=str(k), readings=named) for k in range(3)])
    asked = ImportRequest(paths=[tmp_path / "runs.json"], project=tmp_path)
    with pytest.raises(NotImportable, match="is of a metric") as refused:
        propose(results, asked, "json", datetime.now().astimezone())
    wanted = shlex.split(refused.value.hint.rpartition("--metric ")[2])[0]
    named_one = ImportRequest(paths=asked.paths, project=tmp_path, metrics=(wanted,))
    (made,) = propose(results, named_one, "json", datetime.now().astimezone())
    assert [metric.name for metric in made.experiment.metrics] == [wanted]


@pytest.mark.parametrize(
    ("name", "row"),
    [("a.csv", "{k},0.{k}\n"), ("a.log", "epoch {k} acc: 0.{k}\n"), ("a.jsonl", '{{"epoch": {k}, "acc": 0.{k}}}\n')],
)
def test_two_versions_of_a_file_are_refused_by_their_marks(table, name, row):
    head = "epoch,acc\n" if name == "a.csv" else ""
    rows = [row.format(k=k) for k in range(1, 6)]
    text = f"{head}{''.join(rows)}<<<<<<< HEAD\n{rows[0]}=======\n{rows[1]}>>>>>>> other\n"
    lines = ", ".join(str(line + bool(head)) for line in (6, 8, 10))
    with pytest.raises(NotRuns, match=f"conflict of Git in the lines {lines}"):
        read(table(text, name))


def test_few_words_in_a_counter_are_refused_by_name(table):
    text = "epoch,acc\n" + "".join(f"{k if k != 7 else 'seven'},0.{k}\n" for k in range(1, 21))
    with pytest.raises(NotImportable, match="1 of its 20 cells hold words: 'seven'"):
        read(table(text))
    (run,) = read(table(text), rows="iterations").runs
    assert [reading.iteration for reading in run.readings] == list(range(20))


def test_of_a_json_that_was_cut_off_the_end_is_named(table):
    text = json.dumps([{"epoch": k, "acc": k / 10} for k in range(9)], indent=1)[:-30]
    with pytest.raises(NotImportable, match=r"cut\.json is no JSON: .* line 3[0-9]"):
        read(table(text, "cut.json"))


def test_a_folder_of_logs_of_mlperf_is_read_at_once_in_order(tmp_path):
    for number in (0, 2, 10):
        events = [
            ("global_batch_size", 64 + number, {}),
            ("seed", 30 - number, {}),
            *(("eval_accuracy", 0.1 * epoch + number, {"epoch_num": epoch}) for epoch in (1, 2, 3)),
        ]
        lines = [
            ":::MLLOG " + json.dumps({"key": key, "value": value, "metadata": more}) for key, value, more in events
        ]
        (tmp_path / f"result_{number}.txt").write_text("\n".join(lines))
    runs = read(tmp_path).runs
    assert [run.label for run in runs] == ["seed 30", "seed 28", "seed 20"]
    assert [(run.settings["config/global_batch_size"], len(run.readings)) for run in runs] == [
        ("64", 3), ("66", 3), ("74", 3),
    ]  # fmt: skip
    assert {reading.metric for run in runs for reading in run.readings} == {"eval_accuracy"}


def test_numbers_in_objects_of_jsonpickle_are_read_and_each_metric_has_its_own_steps(table):
    def wrapped(value):
        return {"py/object": "numpy.float64", "dtype": "float64", "value": value}

    for seed, status in enumerate(["COMPLETED", "FAILED"]):
        whole = {
            "loss": [wrapped(0.5 - k / 10 + seed) for k in range(4)],
            "loss_T": [wrapped(100 * k) for k in range(4)],
            "return": [1.5 * k for k in range(3)],
            "return_T": [150 * k for k in range(3)],
            "grad": [{"py/reduce": [{"py/b64": "abc"}]}],
            "grad_T": [100],
        }
        table(json.dumps(whole), f"{seed}/info.json")
        path = table(json.dumps({"status": status, "start_time": "2020"}), f"{seed}/run.json")
    results = read(*(path.parent.parent / str(seed) / "info.json" for seed in range(2)))
    assert [run.status for run in results.runs] == ["COMPLETED", "FAILED"]
    shown = {
        name: [each.iteration for each in results.runs[0].readings if each.metric == name]
        for name in ("loss", "return")
    }
    assert shown == {"loss": [0, 100, 200, 300], "return": [0, 150, 300]}
    assert len({each.metric for each in results.runs[0].readings}) == 2


def test_charts_of_tensorboard_as_json_and_a_folder_of_one_form_are_read(tmp_path):
    for run in "ab":
        points = [[1.7e9 + step, step, 0.5 / (step + 1)] for step in range(4)]
        (tmp_path / f"run-{run}-tag-loss.json").write_text(json.dumps(points))
    (tmp_path / "notes.json").write_text('{"author": "me"}')
    assert values(read(tmp_path), "loss") == {name: [0.5, 0.25, 0.5 / 3, 0.125] for name in "ab"}
    (tmp_path / "other.csv").write_text("epoch,acc\n0,0.1\n1,0.2\n")
    with pytest.raises(NotImportable):
        read(tmp_path)


def test_events_of_mlperf_that_are_all_of_one_epoch_follow_one_another(tmp_path):
    for seed, best in ((3, 0.75), (4, 0.7)):
        facts = [{"key": "seed", "value": seed}, {"key": "block_start", "value": None, "metadata": {"epoch_count": 1}}]
        scores = [{"key": "eval_accuracy", "value": v, "metadata": {"epoch_num": 1}} for v in (0.1, 0.3, 0.5, best)]
        text = "".join(f":::MLLOG {json.dumps(event)}\n" for event in (*facts, *scores))
        (tmp_path / f"result_{seed}.txt").write_text(text)
    assert values(read(tmp_path), "eval_accuracy") == {
        "seed 3": [0.1, 0.3, 0.5, 0.75], "seed 4": [0.1, 0.3, 0.5, 0.7],
    }  # fmt: skip


def test_files_of_one_seed_that_count_epochs_in_fractions_are_trainings(table):
    def rows(size):
        return json.dumps([{"seed": 1, "step": k, "epoch": k / size, "loss": 1 / k} for k in range(1, 6)])

    results = read(table(rows(10), "a.json"), table(rows(20), "b.json"))
    assert [run.label for run in results.runs] == ["seed 1, a.json", "seed 1, b.json"]
    assert any("epoch (counters)" in note for note in results.notes)


def test_files_of_two_kinds_are_named_apart(table, tmp_path):
    table("epoch,loss\n0,2\n1,1\n", "a/metrics.csv")
    table("name,acc\nx,0.5\ny,0.6\n", "b/runs.csv")
    with pytest.raises(NotImportable) as asked:
        read(tmp_path)
    assert re.search(r"deviate import \S+metrics.csv; or deviate import \S+runs.csv", asked.value.hint)


def test_what_holds_still_in_the_trainings_of_one_file_was_set(table):
    rows = "".join(f"{n},{e},{9 - e}.{n}\n" for n in (70, 95) for e in range(4))
    results = read(table(f"n_params,epoch,loss\n{rows}"))
    assert [run.settings["n_params"] for run in results.runs] == ["70", "95"]


def test_two_values_at_the_end_are_said_and_a_head_of_values_is_none(table):
    rows = "".join(f"{e},{9 - e}.5\n" for e in range(8))
    (run,) = read(table(f"epoch,loss\n{rows}7,0.5\n")).runs
    assert (run.readings[-1].value, len(run.notes)) == (0.5, 1)
    with pytest.raises(NotImportable, match="no names of columns"):
        read(table("Jun01,2,0.4\nJun02,3,0.5\n"))


def test_a_table_of_data_within_a_log_is_not_read(table):
    text = "subset | ids | images\n-----\ntrain | 7 | 9\n" + "".join(f"epoch {e} loss {9 - e}.5\n" for e in range(9))
    (run,) = read(table(text, "train_log.txt")).runs
    assert {each.metric for each in run.readings} == {"loss"}


@pytest.mark.parametrize(("first", "names"), [("base ours", True), ("80000 5000", True), ("0 1", False)])
def test_a_nameless_first_column_names_rows_unless_it_numbers_them(table, first, names):
    rows = "".join(f"{word},0.{place}5\n" for place, word in enumerate(first.split(), 5))
    results = read(table(f",acc\n{rows}"), rows="runs")
    assert [run.settings.get("Unnamed: 0") for run in results.runs] == (first.split() if names else [None, None])


def test_rows_of_recipes_with_a_column_a_seed_keep_what_names_them(table):
    path = table("params,seed_0,seed_1,mean,std\n100,0.5,0.6,0.55,0.05\n900,0.7,0.8,0.75,0.05\n")
    with pytest.raises(BadOption) as refused:
        read(path)
    assert refused.value.hint == "name their metric: --set 'columns_are_runs=val acc', with --experiment-column params"
    results = read(path, runs_of="val acc", experiment="params")
    assert {run.group for run in results.runs} == {"100", "900"}
    assert {reading.metric for run in results.runs for reading in run.readings} == {"val acc"}


@pytest.mark.parametrize(("mean", "sd"), [("Mittelwert", "Standardabweichung"), ("среднее", "std"), ("平均", "标准差")])
def test_rows_that_summarise_are_no_runs_in_other_languages(table, mean, sd):
    results = read(table(f"run,acc\nrun0,90\nrun1,91\nrun2,92\n{mean},91\n{sd},1\n"))
    assert [run.label for run in results.runs] == ["run0", "run1", "run2"]
    assert mean in results.notes[0]
    assert sd in results.notes[0]


def test_the_version_of_a_file_is_no_metric_and_letters_are_no_numbers(table):
    files = [
        table(f"epoch,version,acc\n1,2,0.5\n2,2,0.6{place}\n", f"run_{name}.csv") for place, name in enumerate("ab")
    ]
    results = read(*files)
    assert {reading.metric for run in results.runs for reading in run.readings} == {"acc"}
    assert "their names differ by letters alone (run_a.csv, run_b.csv). If such a letter was set" in assumed(
        results.runs
    )


def test_rows_of_methods_are_no_metrics(table):
    with pytest.raises(BadOption, match="look like runs"):
        read(table("method,seed_0,seed_1\nbase,0.5,0.6\nours,0.7,0.8\n"))


def test_trainings_in_a_list_keep_their_epochs(table):
    trainings = [
        {"ratio": f"{k}pct", "epochs_run": [{"epoch": e, "train_acc": k / 10 + e / 100} for e in (1, 2, 3)]}
        for k in (1, 2)
    ]
    results = read(table(json.dumps(trainings), "summary.json"), experiment="ratio")
    assert [[reading.value for reading in run.readings] for run in results.runs] == [
        pytest.approx([0.11, 0.12, 0.13]),
        pytest.approx([0.21, 0.22, 0.23]),
    ]


def test_keys_some_of_which_are_names_of_metrics_may_be_recipes(table):
    parts = {name: {"mean": 0.7, "std": 0.02, "n": 5} for name in ("ce", "focal_loss", "dice", "plain")}
    with pytest.raises(NotRuns, match="4 rows"):
        read(table(json.dumps(parts), "summary.json"))


def test_columns_of_lists_are_said_to_be_left_out(table):
    path = table("epoch,loss,recall\n0,0.5,[0.91 0.47]\n1,0.4,[0.9 0.71]\n")
    assert "Left out, as their cells are lists: recall." in read(path).notes
    with pytest.raises(NotImportable) as nowhere:
        read(table('recipe,loss\nplain,"[0.5, 0.4]"\nmixed,"[0.6, 0.5]"\n'), experiment="recipe")
    assert nowhere.value.hint == "write a row for each item of these lists, or each list into a file: loss"


def test_names_of_groups_of_columns_stand_before_their_names(table):
    of_pandas = table(",cifar,cifar,svhn\n,acc,loss,acc\nseed,,,\n0,0.9,0.1,0.8\n1,0.91,0.11,0.81\n")
    of_sheets = table("seed,cifar,,svhn\n,acc,loss,acc\n0,0.9,0.1,0.8\n1,0.91,0.11,0.81\n", "sheet.csv")
    for results in map(read, (of_pandas, of_sheets)):
        assert values(results, "cifar.acc") == {"seed 0": [0.9], "seed 1": [0.91]}
        assert values(results, "svhn.acc") == {"seed 0": [0.8], "seed 1": [0.81]}


def test_a_series_that_pandas_wrote_names_its_metrics(table):
    (run,) = read(table(",0\naccuracy,0.66\nmacro-f1,0.59\n")).runs
    assert [(reading.metric, reading.value) for reading in run.readings] == [("accuracy", 0.66), ("macro-f1", 0.59)]


def test_words_that_tell_no_end_of_a_run_are_no_states(table):
    text = "run_id,val_bpb,status\na,2.07,keep\nb,2.05,discard\n"
    assert [run.is_finished for run in read(table(text + "c,0,crash\n")).runs] == [True, True, False]
    assert [run.is_finished for run in read(table(text.replace("keep", "crashed").replace("discard", "ok"))).runs] == [
        False, True,
    ]  # fmt: skip


def test_numbers_among_words_are_settings_and_long_texts_count_no_examples(table):
    told = "Once upon a time there was a model " * 4
    rows = [f"{variant},{loss},{told}{loss}" for variant, loss in (("16", 2.03), ("char", 1.94), ("bpe", 3.17))]
    results = read(table("\n".join(["variant,val_mean,sample", *rows])), rows="runs")
    assert {reading.metric for run in results.runs for reading in run.readings} == {"val_mean"}


def test_zeros_at_the_end_of_a_file_are_no_part_of_it(table):
    path = table("Epoch\tAverageEpRet\n0\t-0.43\n1\t0.16\n2\t0.2\n", "progress.tsv")
    path.write_bytes(path.read_bytes() + b"\0" * 225)
    assert list(values(read(path), "AverageEpRet").values()) == [[-0.43, 0.16, 0.2]]


def test_the_length_of_a_training_is_no_epoch_of_it(table):
    lines = [f"[train] epoch:{k} iter:0/18 loss:{1 / (k + 1):.4f}\n[val] epoch:{k} miou:0.{k + 2}" for k in range(6)]
    (run,) = read(table("Total Epoch:300 Image_size:(256, 256)\n" + "\n".join(lines) + "\n", "train_log.txt")).runs
    assert [reading.value for reading in run.readings if reading.metric == "val miou"][-1] == 0.7


def test_a_table_with_a_row_a_metric_is_asked_about_and_its_hint_leads_to_a_run_a_column(table):
    path = table("metric,s0,s1,s2,mean\nacc,0.91,0.92,0.9,0.91\nnll,0.31,0.3,0.33,0.313\n")
    with pytest.raises(NotRuns) as refused:
        read(path)
    assert "--set columns_are_runs=metric if it names metrics, and each other column a run" in refused.value.hint
    results = read(path, runs_of="metric")
    assert values(results, "acc") == {"s0": [0.91], "s1": [0.92], "s2": [0.9]}
    assert values(results, "nll") == {"s0": [0.31], "s1": [0.3], "s2": [0.33]}


def test_columns_of_durations_are_said_to_be_left_out(table):
    results = read(table("seed,acc,wall\n0,0.9,0:12:31\n1,0.91,12:40\n"))
    assert results.notes == ["Left out, as their cells are times: wall."]


def test_how_many_repeats_were_set_names_no_run(tmp_path):
    """As lm-eval writes its results: what it notes of its own is no metric either."""
    of_task = {"results": {"rte": {"acc,none": 0.55}}, "configs": {"rte": {"repeats": 1}}}
    for name in ("results_1.json", "results_2.json"):
        (tmp_path / name).write_text(json.dumps({**of_task, "git_hash": "1185e89", "date": 1737745350.5}))
    results = read(tmp_path / "results_1.json", tmp_path / "results_2.json")
    assert values(results, "results/rte/acc,none") == {"results_1.json": [0.55], "results_2.json": [0.55]}
    assert {reading.metric for run in results.runs for reading in run.readings} == {"results/rte/acc,none"}
