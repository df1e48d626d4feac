"""What was set in runs: read from the names of files, from files beside them, from keys and from values."""

import json

import msgspec
import pytest
from test_import_tables import proposed, read, table, values  # noqa: F401

from deviate.core.errors import NotImportable, NotRuns
from deviate.imports.foreign import ForeignResults, ForeignRun, Reading, without_unset
from deviate.imports.named import settings_in_names
from deviate.imports.repeated import assumed, recipes_in, setting_notes


def curve(seed):
    return "epoch,loss,acc\n" + "".join(
        f"{e},{2 / (e + 1) + 0.013 * seed:.4f},{0.5 + 0.05 * e:.4f}\n" for e in range(5)
    )


def notes(*paths, **options):
    return [note for each in proposed(*paths, **options) for note in each.experiment.imported.notes]


@pytest.mark.parametrize(
    ("names", "settings"),
    [
        (["lr0.1.csv", "lr0.01.csv"], {"config/lr": "0.1"}),
        (["alpha_0.5_seed3.json", "alpha_0.7_seed3.json"], {"config/alpha": "0.5"}),
        (["run_1e-3_s0.csv", "run_1e-4_s0.csv"], {"config/key": "1e-3"}),
        (["bs32.csv", "bs64.csv"], {"config/bs": "32"}),
        (["x/eps=1/log.csv", "x/eps=2/log.csv"], {"config/eps": "1"}),
        (["a=-0.5,b=2.csv", "a=0.5,b=2.csv"], {"config/a": "-0.5"}),
        (["wd_0p1.csv", "wd_0p01.csv"], {"config/wd": "0.1"}),
        (["net_batch_size16.log", "net_batch_size8.log"], {"config/batch_size": "16"}),
        (["n10_seed1", "n10_seed2", "n20_seed1", "n20_seed2"], {"config/n": "10"}),
        (["tau=.5.csv", "tau=.9.csv"], {"config/tau": ".5"}),
        (["net-124M.csv", "net-355M.csv"], {"config/net": "124M"}),
        (["a_0.1_128.csv", "a_0.01_128.csv", "a_0.1_256.csv"], {"config/a": "0.1", "config/key 1": "128"}),
        (["seed1.csv", "seed2.csv"], {}),
        (["log_1.csv", "log_2.csv"], {}),
        (["a_step1000.json", "a_step2000.json"], {}),
        (["epoch=3-val_loss=0.21.csv", "epoch=4-val_loss=0.11.csv"], {}),
        (["r-2020-08-28-19-30-41-52.csv", "r-2020-08-29-19-30-41-53.csv"], {}),
        (["t_1700000000.5.log", "t_1700000100.7.log"], {}),
        (["12.30.45.log", "12.31.45.log"], {}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_numbers_in_names_that_were_set(names, settings):
    assert settings_in_names(names)[0] == settings


def test_settings_in_the_names_of_files_are_said_and_make_experiments(table):  # noqa: F811
    paths = [table(curve(k), f"lr{lr}_s{k % 2}.csv") for k, lr in enumerate(["0.1", "0.1", "0.01", "0.01"])]
    (said,) = notes(*paths)
    assert (
        "'config/lr' (0.1, 0.01) differs between runs: if that was set, these are at least 2 settings in 4 runs" in said
    )
    assert [len(each.runs) for each in proposed(*paths, experiment="config/lr")] == [2, 2]


def test_lists_beside_results_are_settings(table):  # noqa: F811
    paths = []
    for run, used in enumerate((["a", "b"], ["a", "c"], ["a", "b"])):
        paths.append(table("epoch,acc\n0,0.5\n1,0.6\n", f"v_{run}/metrics.csv"))
        table(json.dumps({"used": used}), f"v_{run}/hparams.json")
    assert [run.settings["config/used"] for run in read(*paths).runs] == ["['a', 'b']", "['a', 'c']", "['a', 'b']"]


def test_several_lists_of_equal_objects_are_all_read(table):  # noqa: F811
    whole = {name: [{"acc": start + k / 100} for k in range(3)] for name, start in (("plain", 0.5), ("mixed", 0.7))}
    path = table(json.dumps(whole), "results.json")
    with pytest.raises(NotRuns) as refused:
        read(path)
    assert "--experiment-column key if 'key' names recipes" in refused.value.hint
    results = read(path, experiment="key", rows="runs")
    assert [(run.group, run.readings[0].value) for run in results.runs][::3] == [("plain", 0.5), ("mixed", 0.7)]
    of_parts = {
        name: [{"epoch": k, "loss": top / (k + 1)} for k in range(5)] for name, top in (("train", 1), ("val", 2))
    }
    (one,) = read(table(json.dumps(of_parts), "parts.json")).runs
    assert {reading.metric for reading in one.readings} == {"train loss", "val loss"}
    nested = table(json.dumps({"seeds": [1, 2, 3], "raw": whole}), "nested.json")
    with pytest.raises(NotImportable) as nowhere:
        read(nested)
    assert nowhere.value.hint == (
        "write a row for each item of these lists, or each list into a file: raw/plain, raw/mixed"
    )


@pytest.mark.parametrize("place", ["hparams.yaml", "args.yml", ".hydra/config.yaml", "params.json"])
def test_settings_beside_results_are_read(table, tmp_path, place):  # noqa: F811
    paths = []
    for k in range(3):
        folder = tmp_path / f"version_{k}"
        (folder / place).parent.mkdir(parents=True)
        text = f"net: !!python/object:a.B\n  width: {2**k}\nlr: 0.1\n"
        (folder / place).write_text(json.dumps({"net": {"width": 2**k}}) if place.endswith("json") else text)
        paths.append(table(curve(k), f"version_{k}/metrics.csv"))
    assert any("'config/net/width' (1, 2, 4) differs" in note for note in notes(*paths))


def test_files_of_settings_among_results_are_no_runs(table, tmp_path):  # noqa: F811
    paths = [
        table(json.dumps({"lr": 0.1}), "config.json"),
        table('{"epoch": 0, "acc": 1}\n{"epoch": 1, "acc": 2}\n', "log.json"),
    ]
    results = read(*paths)
    assert list(values(results, "acc")) == ["log.json"]
    assert "config.json holds settings, and is no run." in results.notes


KEYED = {
    "numbers": ({f"{lr}": {"acc": 0.9 + lr, "f1": 0.5} for lr in (0.1, 0.01)}, "config/key"),
    "settings": ({f"lr_{k}": {"acc": 0.9, "f1": 0.5 + k} for k in (1, 2)}, "config/lr"),
    "sizes": ({f"{k}": {"acc": 0.9, "f1": k / 1000} for k in (100, 500, 700)}, "number"),
    "words": ({name: {"acc": 0.9, "f1": k / 10} for k, name in enumerate(("deep", "wide"))}, "key"),
    "curves": ({name: {"epoch": [0, 1], "loss": [2 + k, 1]} for k, name in enumerate(("deep", "wide"))}, "key"),
}


@pytest.mark.parametrize("name", KEYED)
def test_objects_with_equal_keys_are_asked_about(table, name):  # noqa: F811
    whole, column = KEYED[name]
    path = table(json.dumps(whole), "r.json")
    with pytest.raises(NotRuns) as refused:
        read(path)
    assert f"--experiment-column {column}" in refused.value.hint
    assert [len(each.runs) for each in proposed(path, experiment=column)] == [1] * len(whole)


@pytest.mark.parametrize(
    "whole",
    [
        {split: {"loss": 0.1, "acc": 0.9} for split in ("train", "val")},
        {"accuracy": {"mean": 0.9, "std": 0.1}, "f1": {"mean": 0.8, "std": 0.1}},
        {"results": {"a": {"acc": 0.9}, "b": {"acc": 0.8}}, "when": "today"},
    ],
    ids=["splits", "statistics", "data sets of a test"],
)
def test_objects_that_are_parts_of_one_result_are_one_run(table, whole):  # noqa: F811
    assert len(read(table(json.dumps(whole), "r.json")).runs) == 1


GRID = "".join(
    f"{i},{p},{k},{0.5 + i * 37 % 11 / 20}\n"
    for i, (p, k) in enumerate((p, k) for p in (0.13, 0.75) for k in (3, 7, 10))
)


def test_columns_of_a_grid_are_settings_whatever_they_are_called(table):  # noqa: F811
    (proposal,) = proposed(table(f"run,p,k,score\n{GRID}"))
    assert [metric.name for metric in proposal.experiment.metrics] == ["score"]
    said = " ".join(proposal.experiment.imported.notes)
    assert "these are 6 settings in 6 runs" in said
    assert "No metrics: p, k (settings by their values). --metric p takes one in." in said


def test_rows_of_a_grid_without_runs_are_asked_about_by_its_columns(table):  # noqa: F811
    path = table("p,k,score\n" + "".join(line.partition(",")[2] + "\n" for line in GRID.splitlines()))
    with pytest.raises(NotRuns) as refused:
        read(path)
    assert "--experiment-column p if 'p' was set" in refused.value.hint


def test_a_column_that_holds_still_in_each_run_is_a_setting(table):  # noqa: F811
    paths = [table("it,err,budget\n" + "".join(f"{e},{2 / (e + 1) + r},{b}\n" for e in range(5)), f"{r}.csv")
             for r, b in enumerate((17, 23, 71))]  # fmt: skip
    (proposal,) = proposed(*paths)
    assert [metric.name for metric in proposal.experiment.metrics] == ["err"]
    assert "'budget' (17, 23, 71) differs between runs" in proposal.experiment.imported.notes[0]


def test_a_result_of_few_values_is_no_setting(table):  # noqa: F811
    text = "run,solved,gain\n" + "".join(f"{i},{int(i in (0, 3, 4, 8))},{i * 37 % 11}\n" for i in range(8))
    assert "solved" in {reading.metric for run in read(table(text)).runs for reading in run.readings}


# Lists beside their statistics

RUNS = {"seeds": [3, 4, 5], "acc": [0.9, 0.91, 0.92]}


@pytest.mark.parametrize(
    "whole",
    [
        {**RUNS, "mean": 0.91, "std": 0.01},
        {"model": "m", "results": RUNS, "summary": {"mean": 0.91, "n_runs": 3}},
        [{**RUNS, "acc_mean": 91.0}],
        {**RUNS, "duration": 12.5},
        {"seeds": [3, 4, 5], "acc": ["0.9%", "0.91%", "0.92%"], "mean": "0.91%"},
        {**{f"seeds_{k}": {"acc": 0.9 + k / 100} for k in (3, 4, 5)}, "mean": {"acc": 0.94}, "config": {"lr": 0.1}},
    ],
    ids=["beside", "in a group", "in percent", "beside a time", "as words", "an object each"],
)
def test_lists_beside_their_statistics_are_of_runs(table, whole):  # noqa: F811
    results = read(table(json.dumps(whole), "r.json"))
    assert [run.label for run in results.runs] == ["seeds 3", "seeds 4", "seeds 5"]
    assert {reading.metric.rpartition("/")[2] for run in results.runs for reading in run.readings} == {"acc"}


@pytest.mark.parametrize(
    "whole",
    [
        {"acc": [0.9, 0.91, 0.92], "f1": [0.8, 0.81, 0.85], "acc_mean": 0.91, "f1_mean": 0.82},
        {name: {"values": [0.9, 0.91, 0.92], "mean": 0.91} for name in ("acc", "f1")},
        {name: {"0": 0.9, "1": 0.91, "2": 0.92, "mean": 0.91} for name in ("acc", "f1")},
    ],
    ids=["side by side", "in groups", "by numbers"],
)
def test_lists_without_seeds_beside_their_statistics_are_asked_about(table, whole):  # noqa: F811
    path = table(json.dumps(whole), "r.json")
    with pytest.raises(NotRuns, match=r"the 3 rows of r\.json may be runs"):
        read(path)
    results = read(path, rows="runs")
    assert list(values(results, "acc").values()) == [[0.9], [0.91], [0.92]]
    assert {reading.metric for run in results.runs for reading in run.readings} == {"acc", "f1"}


def test_lists_of_the_parts_of_one_result_are_one_run(table):  # noqa: F811
    for whole in ({"acc": 0.9, "per_class": [0.9, 0.8, 1.0]}, {"iou": [0.2, 0.4], "mean_iou": 0.3}):
        assert len(read(table(json.dumps(whole), "r.json")).runs) == 1


def test_numbers_that_differ_by_rounding_are_one_setting(table):  # noqa: F811
    words = ["9.999999999999983e-05", "9.99999999999982e-05", "0.0001", "0.001"]
    path = table("seed,lr,acc\n" + "".join(f"{seed},{word},0.{seed}5\n" for seed, word in enumerate(words)))
    assert "2 settings in 4 runs" in notes(path)[0]


#: Rows of one factor at a time: width 64 and depth 2 but for three runs.
ONE_AT_A_TIME = [(64, 2), (64, 2), (64, 2), (64, 2), (128, 2), (256, 2), (64, 4), (64, 8)]


def test_a_factor_at_a_time_before_the_first_metric_is_set(table):  # noqa: F811
    rows = [f"{a},{b},0.{k * 5 % 8}17,{k * 3 % 8 / 7:.3f}" for k, (a, b) in enumerate(ONE_AT_A_TIME)]
    path = table("alpha,knob,acc,gap\n" + "\n".join(rows) + "\n")
    said = notes(path, rows="runs")
    assert "these are at least 5 settings in 8 runs" in said[0]
    assert "alpha, knob (settings by their values)" in said[-1]
    assert values(read(path, rows="runs"), "gap")["row 1"] == [0.0]


def test_settings_of_a_store_that_come_once_are_counted(table):  # noqa: F811
    paths = []
    for k, (a, b) in enumerate(ONE_AT_A_TIME):
        paths.append(table(curve(k), f"r{k}/log.csv"))
        table(json.dumps({"alpha": a + 0.3, "beta": b + 0.1}), f"r{k}/config.json")
    assert "these are at least 5 settings in 8 runs" in notes(*paths)[0]


def test_settings_that_may_be_more_are_at_least_so_many():
    settings = [{"lr": str([0.1, 0.2][k % 2]), "odd": str(0.31 * 1.7**k)} for k in range(4)]
    runs = [ForeignRun(label=f"r{k}", readings=[], settings=each) for k, each in enumerate(settings)]
    assert "these are at least 2 settings in 4 runs" in next(setting_notes(runs, split=True))


def test_a_column_that_numbers_rows_is_no_learning_curve(table):  # noqa: F811
    text = "case,size,acc\n" + "".join(f"{k},{k * 10},0.{(k * 7) % 10}\n" for k in range(9))
    assert not [note for note in notes(table(text), rows="runs") if "from row to row" in note]


def test_a_name_in_each_row_is_that_of_its_run(table):  # noqa: F811
    path = table("net,acc\n" + "".join(f"{name},0.{k}\n" for k, name in enumerate(["owl", "fox", "hen"])))
    with pytest.raises(NotRuns) as asked:
        read(path)
    assert "--run-column net if 'net' names trainings" in asked.value.hint
    expected = {"owl": [0.0], "fox": [0.1], "hen": [0.2]}
    assert values(read(path, rows="runs"), "acc") == values(read(path, run=("net",)), "acc") == expected


LIST = "Name,seed,optimizer,num_limit,acc\n" + "".join(
    f"run-{chr(97 + k)},{k % 2},{['adam', 'sgd'][k // 3]},{100 + k * k},0.{k}3\n" for k in range(6)
)


def test_rows_of_a_list_of_wandb_without_states_are_runs(table):  # noqa: F811
    assert len(read(table(LIST)).runs) == 6


def test_whole_numbers_in_the_list_of_a_tracker_are_settings(table):  # noqa: F811
    rows = [f"run-{chr(97 + k)},finished,{100 + k * k},0.{k}3\n" for k in range(6)]
    said = notes(table("Name,State,num_limit,acc\n" + "".join(rows)))
    assert "these are 6 settings in 6 runs" in said[0]
    assert "num_limit (settings by their values)" in said[-1]


@pytest.mark.parametrize("count", [5, 8])
def test_a_whole_number_that_goes_with_a_setting_was_set(table, count):  # noqa: F811
    rows = [(2**k, 2 ** (k + a), 0.7 + k / 16) for k in range(2, 6) for a in (0, 1)][:count]
    said = notes(table("run_name,r,scaling,acc\n" + "".join(f"r{r}_a{a},{r},{a},{acc}\n" for r, a, acc in rows)))
    assert f"these are {count} settings in {count} runs" in said[0]


def test_rows_of_one_seed_with_other_words_are_no_epochs_of_one_run(table):  # noqa: F811
    text = "seed,optimizer,epoch,acc\n0,adam,30,0.1\n0,sgd,37,0.2\n1,adam,31,0.3\n1,sgd,40,0.4\n"
    with pytest.raises(NotRuns, match="rows of several 'optimizer'") as asked:
        read(table(text))
    assert "--experiment-column optimizer" in asked.value.hint
    assert len(read(table(text), iteration="epoch").runs) == 2


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("per_device_train_batch_size", ("16", "32", "16"), "(16, 32)"),
        ("checkpoint_path", ("small.pt", "large.pt", "small.pt"), "(small.pt, large.pt)"),
        ("beta_start", ("0.1", "0.2", "0.1"), "(0.1, 0.2)"),
        ("dropout", ("0.1", None, "0.1"), "(0.1, not said)"),
        ("output_dir", ("out/1", "out/2", "out/3"), ""),
        ("start_time", ("1700000001", "1700000002", "1700000003"), ""),
        ("gpu_name", ("x", "y", "x"), ""),
        ("note", ("None", None, "null"), ""),
        ("config_hash", ("9f86d081", "60303ae2", "fd61a03a"), ""),
    ],
)
def test_what_was_set_is_told_from_what_is_a_runs_own(name, words, said):
    runs = [
        ForeignRun(label=f"r{k}", readings=[Reading("acc", 0, k)], settings={name: word} if word else {}, held=[name])
        for k, word in enumerate(words)
    ]
    assert [f"{name!r} {said} differs" in note for note in setting_notes(runs, split=True)] == [True] * bool(said)
    assert bool(assumed(runs)) is not bool(said)


def test_where_an_object_lay_in_memory_was_not_set():
    runs = [
        ForeignRun(label=f"r{k}", readings=[Reading("acc", 0, k)], settings={f"<Log at 0x7f{k}>/env": f"<f at 0x{k}a>"})
        for k in range(2)
    ]
    cleaned = without_unset(ForeignResults(runs=runs)).runs
    assert [run.settings for run in cleaned] == [{"<Log>/env": "<f>"}] * 2


def test_what_runs_were_taken_for_is_said(table):  # noqa: F811
    paths = [table(curve(k) + "5,0.3,0.8\n" * k, f"run{k}.csv") for k in range(2)]
    (proposal,) = proposed(*paths)
    assert proposal.experiment.imported.notes == []
    assert proposal.experiment.imported.assumed == (
        "Taken for repeats of one recipe, though they end at iterations 4 to 5: no settings of theirs are known, and "
        "their names differ by numbers alone (run0.csv, run1.csv). If such a number was set, they are no repeats."
    )


@pytest.mark.parametrize(("word", "rows", "is_said"), [("seed", 5, False), ("seed", 4, True), ("run", 5, True)])
def test_of_runs_that_are_called_by_their_seeds_nothing_is_taken_for_granted(table, word, rows, is_said):  # noqa: F811
    lines = [f"{k},{at},{0.5 + 0.01 * at + 0.001 * k}\n" for k in range(2) for at in range(rows if k else 5)]
    (proposal,) = proposed(table(f"{word},epoch,acc\n{''.join(lines)}", "all.csv"))
    assert bool(proposal.experiment.imported.assumed) is is_said


@pytest.mark.parametrize(
    ("names", "recipes"),
    [
        (["a2c_std/log.csv", "dqn_std/log.csv", "ppo_cur/log.csv"], ["a2c std", "dqn std", "ppo cur"]),
        (["baseline_1", "baseline_2", "ours_1"], ["baseline", "ours"]),
        (["net.log", "net_pretrained.log"], ["none", "pretrained"]),
        (["train/log.csv", "train2/log.csv", "exp-3/log.csv"], []),
        (["wise-roo-476", "loud-colt-529"], []),
        (["run-20260303_172224-0ccsn368", "run-20260303_180047-rf4nc5op"], []),
        (["Aug09_12-30-45_host", "Sep01_10-00-02_host"], []),
    ],
)
def test_recipes_in_names(names, recipes):
    assert recipes_in(names) == recipes


def test_a_column_of_names_beside_values_may_be_of_metrics(table):  # noqa: F811
    path = table("step,type,value\n0,train,2\n0,val,3\n1,train,1\n1,val,2\n")
    with pytest.raises(NotRuns) as asked:
        read(path)
    assert "--set metric_column=type --set value_column=value if it is of metrics" in asked.value.hint
    assert values(read(path, metric="type", value="value"), "val") == {"results.csv": [3.0, 2.0]}


def test_copies_are_known_whatever_the_order_of_their_names(table):  # noqa: F811
    rows = [{"epoch": k, "acc": k / 8, "loss": 1 / (k + 1)} for k in range(3)]
    turned = [dict(reversed(row.items())) for row in rows]
    paths = [table(json.dumps(each), f"run{k}.json") for k, each in enumerate((rows, turned))]
    assert "exactly the same values" in " ".join(notes(*paths))


def test_whole_numbers_that_make_a_grid_larger_were_set_whatever_they_are_called(table):  # noqa: F811
    rows = [(a, b, c, 0.5 + a / 7 + b / 31 + c / 97) for a in (2, 4, 6) for b in (1, 2, 4) for c in (8, 16, 24)]
    path = table(
        "time_blocks,freq_blocks,token_length,loss\n" + "".join(f"{a},{b},{c},{v:.5f}\n" for a, b, c, v in rows)
    )
    (proposal,) = proposed(path, rows="runs")
    assert [metric.name for metric in proposal.experiment.metrics] == ["loss"]
    assert any("27 settings in 27 runs" in note for note in proposal.experiment.imported.notes)


def test_objects_numbered_below_seeds_are_runs(table):  # noqa: F811
    path = table(
        json.dumps({"seeds": {"2026": {"f1": 0.8}, "42": {"f1": 0.7}}, "summary": {"mean_f1": 0.75}}), "s.json"
    )
    assert [(run.label, run.readings[0].value) for run in read(path).runs] == [("seeds 2026", 0.8), ("seeds 42", 0.7)]


def test_objects_with_equal_names_are_asked_about_whatever_their_names(table):  # noqa: F811
    whole = {key: {"dip": k / 7, "kink": k / 3, "bend": k + 0.1} for k, key in enumerate(("graddiff", "idknll", "npo"))}
    with pytest.raises(NotRuns) as refused:
        read(table(json.dumps(whole), "scores.json"))
    assert "--experiment-column key" in refused.value.hint


def test_hashes_in_names_are_no_settings():
    names = ["8e5d1fe41dcd4cc5ba32921b07f1b7f1", "f8b0899d2d2c42c6a73b7ca8c256e3d6", "16be97aae6e14d9fbd7c7bcde74a2b37"]
    assert settings_in_names(names) == [{}] * 3


def test_settings_are_compared_where_their_file_cannot_be_read_or_names_its_own_parts(table, tmp_path):  # noqa: F811
    for text, said in (
        ("lr: {k}\nnet: &a {{x: 1}}\nother: *a\n", "'config/lr'"),
        ("lr: {k}\nlr: 1\n", "'config/hparams.yaml'"),
    ):
        for run in range(4):
            (tmp_path / f"version_{run}").mkdir(exist_ok=True)
            (tmp_path / f"version_{run}/hparams.yaml").write_text(text.format(k=run // 2))
        paths = [table(curve(k), f"version_{k}/metrics.csv") for k in range(4)]
        assert any(f"{said} (" in note for note in notes(*paths))


def test_rows_of_a_grid_of_seeds_and_settings_are_asked_about(table):  # noqa: F811
    grid = [(s, d, w) for s in range(3) for d in ("ecg", "har") for w in (64, 128)]
    text = "seed,dataset,width,acc\n" + "".join(f"{s},{d},{w},0.{50 + 7 * s + w % 9}\n" for s, d, w in grid)
    with pytest.raises(NotRuns, match="may be epochs, folds"):
        read(table(text))
    assert len(read(table(text), rows="runs").runs) == 12


def test_the_epoch_that_was_best_is_no_setting_and_an_id_no_metric(table):  # noqa: F811
    rows = "".join(f"{s},{12 + s % 3},{28651 + s}e{s},0.{90 - s}\n" for s in range(6))
    results = read(table(f"seed,best_epoch,workflow_id,acc\n{rows}"))
    assert set(values(results, "best_epoch")) == set(values(results, "acc"))
    assert not values(results, "workflow_id")["seed 0"]
    assert not list(setting_notes(results.runs, split=False))


def test_seeds_that_some_files_tell_alone_are_no_runs_of_the_others(table):  # noqa: F811
    paths = [table(f"epoch,acc{seeds}\n0,0.{k}{seeds and ',7'}\n", f"{k}.csv") for k, seeds in ((1, ",seed"), (2, ""))]
    assert [run.label for run in read(*paths).runs] == ["seed 7", "2.csv"]
    path = table("name,seed,acc\na,7,0.5\nb,7,0.6\nc,,0.7\n", "list.csv")
    with pytest.raises(NotRuns, match="row 3 has no 'seed'") as asked:
        read(path)
    assert "--set rows=runs" in asked.value.hint
    assert [run.label for run in read(path, rows="runs").runs] == ["seed 7, row 1", "seed 7, row 2", "row 3"]


def test_a_file_that_an_object_has_open_was_not_set():
    names = [f"<Log at 0x7f{k}>/<_io.TextIOWrapper name='./run_{k}/a.txt' mode='w'>/mode" for k in range(2)]
    runs = [ForeignRun(label="r", readings=[Reading("acc", 0, 0.5)], settings={name: "w"}) for name in names]
    cleaned = without_unset(ForeignResults(runs=runs)).runs
    assert [run.settings for run in cleaned] == [{"<Log>/<_io.TextIOWrapper>/mode": "w"}] * 2


def test_neither_a_file_behind_a_name_nor_a_drawn_name_tells_a_recipe():
    runs = [
        ForeignRun(label=label, source="my_runs/4/metrics.json", readings=[Reading("acc", 0, 0.5)])
        for label in ("seed 1", "seed 2, my_runs/4/metrics.json")
    ]
    assert list(setting_notes(runs, split=False)) == []
    named = [msgspec.structs.replace(run, label=f"loud-owl-{k}") for k, run in enumerate(runs)]
    assert "differ by numbers and drawn words alone (loud-owl-0, loud-owl-1)" in assumed(named)
