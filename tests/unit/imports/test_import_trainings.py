"""Several trainings in one file: found where a counter begins again, or asked about."""

import json
import shlex

import pytest
from test_import_tables import read, table, values  # noqa: F401

from deviate.core.errors import NotImportable, NotRuns


def loss(at, seed=0):
    return round(2.5 / (1 + 0.3 * at) + 0.01 * seed, 4)


def last(results, metric):
    return [each[-1] for each in values(results, metric).values()]


RUNS_ON = {
    "epochs.log": "".join(
        f"epoch {e} global_step {12 * s + 3 * e + b} loss {loss(e + b / 3, s)}\n"
        for s in range(3) for e in range(4) for b in range(3)
    ),
    "ep.csv": "ep,total_steps,loss\n"
    + "".join(f"{e},{20 * (6 * s + e)},{loss(e, s)}\n" for s in range(3) for e in range(6)),
    "boxes.log": "".join(
        f"| epoch | {e} |\n| steps | {50 * (5 * s + e)} |\n| loss | {loss(e, s)} |\n\n"
        for s in range(3) for e in range(5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS_ON)
def test_a_counter_that_begins_again_while_another_one_runs_on_leaves_two_readings(table, name):  # noqa: F811
    path = table(RUNS_ON[name], name)
    with pytest.raises(NotRuns, match="begins again 2 times and the values begin anew with it") as refused:
        read(path)
    again, on = (each.split()[0] for each in refused.value.hint.split("iteration_column=")[1:])
    assert len(read(path, iteration=again).runs) == 3
    assert len(read(path, iteration=on).runs) == 1


def test_a_counter_within_another_one_begins_no_training(table):  # noqa: F811
    rows = [
        {"global_step": 8 * e + b, "batch": b, "loss": loss(e + b / 8), "spent": 0.5 * b}
        for e in range(9)
        for b in range(8)
    ]
    assert len(read(table("\n".join(map(json.dumps, rows)), "a.jsonl")).runs) == 1


@pytest.mark.parametrize("name", ["ep", "gen", "t"])
def test_what_rises_evenly_counts_whatever_it_is_called(table, name):  # noqa: F811
    path = table("".join(f"{name}={k} loss={loss(k, s)}\n" for s in (1, 2) for k in range(0, 60, 10)), "a.log")
    for results in (read(path), read(path, patterns=[f"{name}={{{name}}} ... loss={{loss}}"])):
        assert last(results, "loss") == [loss(50, 1), loss(50, 2)]
        assert {(reading.metric, reading.iteration) for reading in results.runs[1].readings} == {
            ("loss", k) for k in range(0, 60, 10)
        }


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_trainings_that_are_counted_twice_over_are_each_whole(table, suffix):  # noqa: F811
    """By epochs, and by the batches of each."""
    rows = [
        row
        for s in (1, 2)
        for e in range(4)
        for row in [
            *({"epoch": e, "batch": b, "loss": loss(e + b / 3, s)} for b in range(3)),
            {"epoch": e, "acc": e + s},
        ]
    ]
    head = ("epoch", "batch", "loss", "acc")
    cells = "".join(",".join(str(row.get(name, "")) for name in head) + "\n" for row in rows)
    text = "\n".join(map(json.dumps, rows)) if suffix == "jsonl" else f"{','.join(head)}\n{cells}"
    assert last(read(table(text, f"a.{suffix}")), "acc") == [4, 5]


def test_a_counter_that_goes_back_to_near_its_start_is_asked_about_where_the_values_tell_nothing(table):  # noqa: F811
    text = "epoch,loss,f1\n" + "".join(f"{e},{loss(e - first)},{e}\n" for first in (0, 2) for e in range(first, 10))
    path = table(text)
    with pytest.raises(NotRuns, match="and the values tell neither"):
        read(path)
    assert len(read(path, iteration="epoch").runs) == 2
    assert len(read(path, rows="iterations").runs) == 1


def test_a_training_that_begins_one_step_later_than_the_one_before_is_asked_about(table):  # noqa: F811
    path = table("step,loss\n" + "".join(f"{100 * e},{loss(e)}\n" for first in (0, 1, 1) for e in range(first, 10)))
    with pytest.raises(NotRuns, match="goes back from 900 to 100"):
        read(path)
    assert [len(run.readings) for run in read(path, iteration="step").runs] == [10, 9, 9]


def test_a_counter_that_is_named_behind_its_lines_is_asked_about(table):  # noqa: F811
    text = "".join(
        "".join(f"step {k}/3 loss {loss(e + k / 3, s)}\n" for k in (1, 2, 3))
        + f"Epoch {e} done: val_loss {loss(e, s)}\n"
        for s in (1, 2) for e in range(1, 5)
    )  # fmt: skip
    path = table(text, "a.log")
    with pytest.raises(NotRuns, match="'Epoch' stands behind the lines that it counts") as asked:
        read(path)
    steps, epochs = (shlex.split(each)[0] for each in asked.value.hint.split("--pattern ")[1:])
    assert last(read(path, patterns=[epochs.rstrip(",")]), "val_loss") == [loss(4, 1), loss(4, 2)]
    assert last(read(path, patterns=[steps.rstrip(",")], rows="iterations"), "loss") == [loss(5, 2)]


def test_the_folds_of_a_log_are_no_trainings(table):  # noqa: F811
    text = "".join(f"Fold {f} Epoch {e}/3 loss: {loss(e, f)}\n" for f in (1, 2) for e in (1, 2, 3))
    path = table(text, "a.log")
    with pytest.raises(NotRuns, match="counts folds, 2 of them"):
        read(path)
    assert last(read(path, where=(("Fold", "2"),)), "loss") == [loss(3, 2)]


def test_a_start_of_one_row_is_no_row_of_the_next_short_training(table):  # noqa: F811
    path = table("epoch,loss\n" + "".join(f"{e},{loss(e, s)}\n" for s, n in enumerate((1, 5, 5)) for e in range(n)))
    with pytest.raises(NotRuns, match="holds 3 trainings"):
        read(path)
    assert [len(run.readings) for run in read(path, iteration="epoch").runs] == [1, 5, 5]


def test_counts_with_commas_are_whole(table):  # noqa: F811
    lines = "".join(f"[epoch: 0, iter: {100 * k:,}, lr:(1e-4,)] l_pix: {loss(k)}\n" for k in range(1, 30))
    path = table(lines, "a.log")
    for results in (read(path), read(path, patterns=["iter: {iter}, ... l_pix: {l_pix}"])):
        assert {r.iteration for r in results.runs[0].readings} == {100 * k for k in range(1, 30)}


def test_what_counts_beside_no_metric_is_asked_about(table):  # noqa: F811
    with pytest.raises(NotImportable, match="does not show what it is"):
        read(table("".join(f"  i = {k}, Guess = {k % 7}, Answer = {k % 5}\n" for k in range(20)), "test.out"))


def test_columns_that_begin_with_a_line_are_read_unless_wandb_notes_them(table):  # noqa: F811
    rows = "".join(f"{k},{k},{loss(k)},{k}\n" for k in range(9))
    (run,) = read(table(f"_Episode,_runtime,_MeanReturn,_step\n{rows}")).runs
    assert {reading.metric for reading in run.readings} == {"_MeanReturn"}


def test_seeds_without_values_are_no_runs(table):  # noqa: F811
    with pytest.raises(NotImportable, match="no column holds the values"):
        read(table('{"n_reps": 3, "seeds": [7, 8, 9]}', "seeds.json"))


def test_runs_are_called_by_their_seeds_where_one_seed_comes_twice(table):  # noqa: F811
    paths = [table(f"seed,epoch,loss\n{s},0,2\n{s},1,1.{k}\n", f"{k}.csv") for k, s in enumerate((5, 7, 7))]
    assert [run.label for run in read(*paths).runs] == ["seed 5", "seed 7, 1.csv", "seed 7, 2.csv"]


def test_a_folder_without_results_names_none_of_its_files(table, tmp_path):  # noqa: F811
    table('{"width": 3}', "logs/net.json")
    (tmp_path / "logs/model.zip").write_bytes(b"PK\x03\x04\x00")
    with pytest.raises(NotImportable) as refused:
        read(tmp_path / "logs")
    assert refused.value.hint.startswith("name a file of results")


def test_parts_of_epochs_that_go_back_are_asked_about_and_not_counted_in_their_order(table):  # noqa: F811
    rows = "".join(f"{at},{loss(at)}\n" for at in (0.5, 1.0, 1.5, 2.0))
    assert last(read(table("epoch,loss\n" + rows)), "loss") == [loss(2.0)]
    with pytest.raises(NotRuns, match=r"'epoch' goes back from 2.0 to 0.5"):
        read(table("epoch,loss\n" + 2 * rows))


def test_a_counter_that_goes_back_between_its_own_values_is_asked_about(table):  # noqa: F811
    steps = [*range(19, 320, 20), *range(100, 2000, 100)]
    path = table("".join(json.dumps({"iteration": at, "loss": 9 / at}) + "\n" for at in steps), "metrics.json")
    with pytest.raises(NotRuns, match="goes back from 319 to 100, and the values come once each") as asked:
        read(path)
    assert "--set rows=iterations" in asked.value.hint
    assert [len(run.readings) for run in read(path, iteration="iteration").runs] == [16, 19]


def test_evaluations_that_count_their_batches_are_of_the_step_before(table):  # noqa: F811
    rows = [{"mode": "train", "iter": at, "loss": 9 / at} for at in range(10, 90, 10)]
    for place in (8, 6, 4):
        rows.insert(place, {"mode": "val", "iter": 64, "mIoU": place / 10})
    path = table("".join(json.dumps({"epoch": 1 + k // 5, **row}) + "\n" for k, row in enumerate(rows)), "log.json")
    (run,) = read(path).runs
    assert [each.iteration for each in run.readings if each.metric == "val mIoU"] == [40, 60, 80]


def test_epochs_that_rise_and_fall_by_chance_are_results_of_trainings(table):  # noqa: F811
    epochs = [16, 22, 15, 28, 12, 30, 11, 24, 13, 29]
    path = table("name,seed,epoch,acc\n" + "".join(f"m{chr(97 + k)},42,{e},0.{e}\n" for k, e in enumerate(epochs)))
    with pytest.raises(NotRuns) as asked:
        read(path)
    assert "--set rows=runs" in asked.value.hint
    assert len(read(path, rows="runs").runs) == len(epochs)


def test_the_run_in_the_name_of_a_column_is_one(table):  # noqa: F811
    rows = "".join(f"{e},0.{e},0.{e + 1}\n" for e in range(5))
    results = read(table("epoch,acc_seed1,acc_seed2\n" + rows))
    assert {run.label: run.readings[-1].value for run in results.runs} == {"seed1": 0.4, "seed2": 0.5}
    with pytest.raises(NotRuns, match="are folds"):
        read(table("epoch,fold1_acc,fold2_acc\n" + rows))


def test_a_chart_of_means_is_asked_about(table):  # noqa: F811
    path = table("Step,a - acc,a - acc__MIN,a - acc__MAX\n0,0.5,0.4,0.6\n1,0.6,0.5,0.7\n")
    with pytest.raises(NotRuns, match="means of several runs"):
        read(path)
    assert len(read(path, runs_of="value").runs) == 1


@pytest.mark.parametrize(
    ("other", "why"), [("epoch,loss\n0,9\n1,8\n2,7\n", "every value of"), ("epoch,acc\n0,9\n1,8\n", "no metric in")]
)
def test_files_that_are_parts_of_one_training_are_asked_about(table, other, why):  # noqa: F811
    paths = [table("epoch,loss\n0,9\n1,8\n2,7\n3,6\n", "1.csv"), table(other, "2.csv")]
    with pytest.raises(NotRuns, match=why):
        read(*paths)
    assert len(read(*paths, run=("file",)).runs) == 2


def test_trainings_behind_other_lines_of_a_log_are_asked_about(table):  # noqa: F811
    epochs = "".join(f"epoch {e} loss {3 - e / 2}\n" for e in range(5))
    path = table("".join(f"Task: {name}\n{epochs}" for name in "AB"), "a.log")
    with pytest.raises(NotRuns, match="'Task: A', 'Task: B'"):
        read(path)
    assert len(read(path, iteration="epoch").runs) == 2
    assert len(read(table(f"seed 1\n{epochs}seed 2\n{epochs}", "b.log")).runs) == 2


def state(path, steps):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"max_steps": 9, "log_history": [{"step": k, "loss": 1 / (k + 1)} for k in steps]}))
    return path


def test_an_earlier_state_is_asked_about_before_recipes(tmp_path):
    whole, early = (
        state(tmp_path / "out/trainer_state.json", range(8)),
        tmp_path / "out/checkpoint-5/trainer_state.json",
    )
    with pytest.raises(NotRuns, match="an earlier state of one training"):
        read(state(early, range(5)), whole)


def test_a_trainer_that_logged_nothing_has_no_values(tmp_path):
    empty = state(tmp_path / "run_1/trainer_state.json", ())
    with pytest.raises(NotImportable, match="holds no row of values"):
        read(empty)
    for run in (2, 3):
        state(tmp_path / f"run_{run}/trainer_state.json", range(run))
    runs = read(tmp_path).runs
    assert [(bool(run.broken), len(run.readings)) for run in runs] == [(True, 0), (False, 2), (False, 3)]


def test_a_hint_names_a_file_and_its_copy_once(tmp_path):
    lines = "".join(json.dumps({"step": k, "loss": 1 / (k + 1), "time": 0.25 + k}) + "\n" for k in range(5))
    for name in ("20230605.json", "scalars.json"):
        (tmp_path / name).write_text(lines)
    (tmp_path / "train.log").write_text("".join(f"epoch {k} val_acc 0.{k + 1}\n" for k in range(5)))
    with pytest.raises(NotImportable) as refused:
        read(tmp_path)
    assert [refused.value.hint.count(name) for name in ("20230605.json", "scalars.json", "train.log")] in (
        [1, 0, 1], [0, 1, 1],
    )  # fmt: skip


def test_a_head_above_the_rows_tells_the_run_of_all(tmp_path):
    """A seed that the first row alone has is of all where no counter counts this row, else it is asked about."""
    path = tmp_path / "20230210.log.json"
    rows = [{"mode": "val", "epoch": k, "iter": 13, "bbox_mAP": 0.1 * k} for k in range(1, 5)]
    head = {"env_info": "Python: 3.8", "seed": 7}
    path.write_text("".join(json.dumps(row) + "\n" for row in [head, *rows]))
    (run,) = read(path).runs
    assert (run.label, len(run.readings), run.readings[-1].value) == ("seed 7", 4, 0.4)
    path.write_text("".join(json.dumps(row) + "\n" for row in [{**rows[0], "seed": 7}, *rows[1:]]))
    with pytest.raises(NotRuns, match="row 2 has no 'seed'"):
        read(path)


def test_charts_without_a_metric_in_common_are_asked_about_before_recipes(tmp_path):
    """TensorBoard's tables of one training, a file a metric."""
    paths = [tmp_path / f"{name}.csv" for name in ("train_loss", "train_acc", "val_loss", "val_acc")]
    for place, path in enumerate(paths, 1):
        path.write_text("Wall time,Step,Value\n" + "".join(f"{k}.5,{k},{place}.{k}\n" for k in range(4)))
    with pytest.raises(NotRuns, match="have no metric in common") as refused:
        read(*paths)
    assert "--set mean_over=file if they are parts of one" in refused.value.hint
    (run,) = read(*paths, mean_over=("file",)).runs
    last = {reading.metric: reading.value for reading in run.readings}
    assert last == {"train_loss": 1.3, "train_acc": 2.3, "val_loss": 3.3, "val_acc": 4.3}
