"""Slots are metrics or something else, by name and by how their values behave within and between runs."""

from __future__ import annotations

import pytest

from deviate.lexicon.words import Meaning
from deviate.observe.output.files import read_file
from deviate.observe.output.judge import Judged, judge
from deviate.observe.output.slots import mine_log


def judged(*runs: str) -> dict[str, Judged]:
    return {
        one.slot.name: one
        for one in judge({f"run-{k}": mine_log(text.encode(), "stdout").series for k, text in enumerate(runs)})
    }


def kinds(*runs: str) -> dict[str, str]:
    return {name: one.kind for name, one in judged(*runs).items()}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Epoch 1 loss 5\nEpoch 2 loss 4", "Epoch 1 loss 6\nEpoch 2 loss 3", {"Epoch": "counter", "loss": "metric"}),
        ("epoch 0.5\nepoch 1.0", "epoch 0.5\nepoch 1.0", {"epoch": "counter"}),
        ("size 9\nsize 5\nsize 7", "size 9\nsize 6\nsize 7", {"size": "metric"}),
        ("foo 3", "foo 4", {"foo": "metric"}),
        ("lr 0.1\nlr 0.01", "lr 0.1\nlr 0.02", {"lr": "setting"}),
        ("dropout 0.5", "dropout 0.5", {"dropout": "setting"}),
        ("Accuracy: 95/100", "Accuracy: 97/100", {"Accuracy": "metric", "Accuracy total": "total"}),
        ("widgets: 7", "widgets: 7", {"widgets": "constant"}),
        ("test acc 1.00", "test acc 1.00", {"test acc": "metric"}),
        ("pid 4711", "pid 4712", {"pid": "identifier"}),
        ("pred is 1 label is 2", "pred is 3 label is 2", {"pred": "identifier", "label": "constant"}),
        ("Input: 7", "Input: 9", {"Input": "identifier"}),
        ("Accuracy of class 0: 75.00% (3/4)\nAccuracy of class 1: 80.00% (4/5)\nAccuracy of class 2: 0.00% (0/4)",
         "Accuracy of class 0: 25.00% (1/4)\nAccuracy of class 1: 80.00% (4/5)\nAccuracy of class 2: 0.00% (0/4)",
         {"step": "counter", "Accuracy of class": "metric", "Accuracy of class (in brackets)": "identifier",
          "Accuracy of class (in brackets) total": "total"}),
        ("started 1763822662.5\nstarted 1763822663.1", "started 1763829999.5", {"started": "time of day"}),
        ("ETA 12.5 s", "ETA 11.5 s", {"ETA": "progress"}),
        ("took 12.5 s", "took 11.5 s", {"time": "metric"}),
        ("loss nan\nloss nan", "loss nan\nloss nan", {"loss": "metric"}),
        ("val loss inf", "val loss inf", {"val loss": "metric"}),
        ("best epoch: 7", "best epoch: 9", {"best epoch": "metric"}),
        ("| acc | 1 |", "| acc | 1 |", {"acc": "metric"}),
        ("Loss at 299 => 0.21", "Loss at 299 => 0.22", {"Loss": "constant", "Loss (new)": "metric"}),
        ("gradient_accumulation_steps=1", "gradient_accumulation_steps=1", {"gradient_accumulation_steps": "constant"}),
        ("a Block at @140549674325840", "a Block at @140549321272208", {"Block": "identifier"}),
        ("key 7301923847561029384", "key 1103847561029384756", {"key": "identifier"}),
        ("loss 312352812500", "loss 412352812500", {"loss": "metric"}),
        ("flops 312352812500.5", "flops 412352812500.5", {"flops": "metric"}),
        ("size max 9\nsize max 7\nsize max 8", "size max 9\nsize max 7\nsize max 8", {"size max": "metric"}),
        ("grad_step = 0, loss = 0.5\ngrad_step = 9, loss = 1.5", "grad_step = 0, loss = 0.6\ngrad_step = 9, loss = 1.6",
         {"grad_step": "counter", "loss": "metric"}),
        ("tick 0042 loss 0.5\ntick 0043 loss 0.6", "tick 0052 loss 0.5", {"tick": "counter", "loss": "metric"}),
        ("flag 0\nflag 1\nflag 1\nflag 0\nflag 1", "flag 0\nflag 1\nflag 1\nflag 0\nflag 1", {"flag": "constant"}),
        ("state 07 down", "state 04 down", {"state": "identifier"}),
        ("score 0042", "score 0047", {"score": "metric"}),
        ("loss 0 tensor(0.5)\nloss 50 tensor(0.6)", "loss 0 tensor(0.7)\nloss 50 tensor(0.2)",
         {"step": "counter", "loss": "metric"}),
        ("".join(f"loss {k} 0.5{k}\n" for k in range(4)), "".join(f"loss {k} 0.4{k}\n" for k in range(4)),
         {"step": "counter", "loss": "metric"}),
        ("".join(f"right {k} 0.5{k}\n" for k in (3, 1, 4, 5)), "".join(f"right {k} 0.4{k}\n" for k in range(4)),
         {"right": "metric", "right (2)": "metric"}),
        ("Best is trial 3", "Best is trial 5", {"Best is trial": "identifier"}),
        ("epoch 0\nepoch 0\nepoch 1\nepoch 2\nepoch 1\nepoch 2", "epoch 0\nepoch 1\nepoch 2\nepoch 0\nepoch 1\nepoch 2",
         {"epoch": "counter"}),
        ("mAP 50-95: 0.3", "mAP 50-95: 0.4", {"mAP": "constant", "column 2 of stdout line 'mAP N-N:N'": "constant",
                                              "column 3 of stdout line 'mAP N-N:N'": "metric"}),
    ],
)  # fmt: skip
def test_kinds(first, second, expected):
    assert kinds(first, second) == expected


@pytest.mark.parametrize(
    ("line", "name", "kind"),
    [
        ("│ 1 │ acc │ MulticlassAccuracy │ 0 │ train │", "MulticlassAccuracy", "setting"),
        ("1 | net.acc   | BinaryAccuracy | 0      | train", "BinaryAccuracy", "setting"),
        ("│ 1 │ loss_fn │ MSELoss │ 0 │ train │ 0 │", "MSELoss", "setting"),
        ("3 | val | Loss | 0.5 |", "val Loss", "metric"),
    ],
)
def test_a_row_of_the_table_of_layers_is_no_metric(line, name, kind):
    assert kinds(line, line)[name] == kind


SEARCH = """[I] Trial 0 finished with value: {} and parameters: {{'depth': {}, 'ratio': {}}}. Best: trial 0, value: {}
Best trial:
    depth: {}
    ratio: {}
"""


def test_what_a_search_draws_is_a_setting_wherever_it_is_printed():
    found = kinds(SEARCH.format(0.91, 7, 0.25, 0.91, 7, 0.25), SEARCH.format(0.93, 5, 0.5, 0.93, 5, 0.5))
    assert [name for name, kind in found.items() if kind == "metric"] == ["finished with value", "value"]
    assert {kind for name, kind in found.items() if "depth" in name or "ratio" in name} == {"setting"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("args: Namespace(width={}, names=['a'], tau={})", {"setting"}),
        ("init_kwargs: {{'scale': {}, 'inner': [{}, 5]}}", {"setting"}),
        ("results: {{'loss': {}, 'size': {}}}", {"metric"}),
        ("params (loss {}), width: {}", {"metric"}),
    ],
)
def test_numbers_in_brackets_that_are_headed_by_a_word_for_settings_are_settings(line, expected):
    found = kinds(line.format(2, 3), line.format(4, 5))
    assert set(found.values()) - {"constant"} == expected


def test_the_process_in_front_of_a_log_message_is_an_identifier():
    line = "2026-01-05 10:22:33,123 [{}] INFO - loss {}\n"
    found = kinds(line.format(15153, 0.5), line.format(16001, 0.6))
    assert sorted(found.values()) == ["identifier", "metric"]


def relative(*moments: int) -> str:
    """A log whose lines begin with the milliseconds since it began."""
    texts = ["Generating data", "Step Loss", "0 loss 1.25", "10 loss 1.5", "final loss = 1.75"]
    return "".join(f"{moment:9d} {text}\n" for moment, text in zip(moments, texts, strict=True))


def test_what_leads_lines_of_several_kinds_and_goes_up_is_the_clock_of_the_log():
    one, other = relative(1069, 1083, 1960, 2009, 2090), relative(1114, 1131, 2071, 2115, 2200)
    for runs in ((one, other), (one, other, "")):
        found = judged(*runs)
        assert sorted(each.slot.name for each in found.values() if each.kind == "metric") == ["final loss", "loss"]
    descending = relative(1114, 1131, 2071, 2015, 2200), relative(1114, 1131, 2071, 2015, 1900)
    assert [each.kind for each in judged(one, *descending).values()].count("metric") > 2


def test_a_bar_says_how_far_it_is_and_how_fast_it_moves():
    bar = "train: 100%|██████████| 10/10 [00:01<00:00, {} it/s, loss={}]"
    found = judged(bar.format(8.31, 0.5), bar.format(7.7, 0.4))
    assert [one.kind for one in found.values()] == ["progress"] * 4 + ["metric"]


MODEL = """Net(
  (ln_f): LayerNorm(({0},), eps=1e-05, elementwise_affine=True)
  (rms): RMSNorm(({0},), eps=None)
  (score): Linear(in_features={0}, out_features=2, bias=True)
  (0): Dropout(p=0.{0}, inplace=False)
)
chosen GroupNorm(4, {0}, eps=1e-05)
loss 0.{0}
TrainOutput(global_step=9, training_loss=0.{0})
TrainLoss(0.{0})
AUC(0.{0})"""


def test_the_text_of_a_model_holds_no_metric_and_results_in_brackets_are_some():
    for runs in (range(3, 5), range(3, 4)):
        found = judged(*(MODEL.format(width) for width in runs))
        assert [name for name, one in found.items() if one.kind == "metric"] == [
            "loss", "training_loss", "TrainLoss", "AUC"
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("hp_metric -1", "constant"),
        ("world rank {}", "identifier"),
        ("local_rank: {}, rank: {}", "identifier"),
        ("mean rank {}.5", "metric"),
        ("step size 0.{}", "setting"),
        ("time left: 3.{}s", "progress"),
        ("Estimated time to finish 3.{}", "progress"),
        ("1.{} s left", "progress"),
        ("left eye error 3.{}", "metric"),
        ("weights digest: -1.{}", "identifier"),
        ("param checksum=0.{}", "identifier"),
        ("sum of weights 12.{}", "identifier"),
        ("hash loss 0.{}", "metric"),
    ],
)
def test_what_names_say_of_numbers_that_are_no_results(line, kind):
    assert set(kinds(line.format(1, 2), line.format(3, 4)).values()) == {kind}


def test_one_run_alone_is_judged_by_what_varies_in_it():
    text = "Epoch 1: foo 0.5 batch size 32\nEpoch 2: foo 0.4 batch size 32\nEpoch 3: foo 0.6 batch size 32"
    assert kinds(text) == {"Epoch": "counter", "foo": "metric", "batch size": "setting"}


def test_numbers_without_a_name_are_counters_where_they_count():
    assert list(kinds("0 0.51\n10 0.42\n20 0.43").values()) == ["counter", "metric"]


def test_what_makes_a_name_unique_says_nothing_of_the_number():
    text = "{'loss': 0.5, 'epoch': 1.0}\n{'eval_loss': 0.5, 'epoch': 1.0}"
    assert [one.kind for name, one in judged(text, text).items() if name.startswith("epoch")] == ["constant"] * 2


def test_varying_is_told_of_runs_and_within_them():
    found = judged("loss 0.5\nloss 0.4", "loss 0.5\nloss 0.3")["loss"]
    assert (found.varies, found.varies_within, found.runs) == (True, True, 2)
    found = judged("loss 0.5\nloss 0.5", "loss 0.5")["loss"]
    assert (found.varies, found.varies_within) == (False, False)
    found = judged("loss nan", "loss nan")["loss"]
    assert not found.varies


def test_a_slot_of_some_runs_is_judged_by_those():
    found = judged("loss 0.5", "loss 0.6\nstopped early at epoch 7")
    assert found["loss"].runs == 2
    assert next(one for name, one in found.items() if name != "loss").runs == 1


def test_meanings_are_those_of_names_and_units():
    found = judged("val acc 0.5 time 3.2s memory: 512 MB", "val acc 0.6 time 3.1s memory: 500 MB")
    assert found["val acc"].meaning == Meaning("quality", "higher")
    assert found["time"].meaning == Meaning("speed", "lower")
    assert found["memory"].meaning == Meaning("resource", "lower")


def test_numbers_at_both_ends_of_the_range_are_judged():
    numbers = [0.0, 1.7e308, -1.7e308, float("inf"), float("inf"), 3.0] * 2
    log = "\n".join(f"loss = {number!r}" for number in numbers).encode()
    (found,) = judge({name: mine_log(log, "stdout").series for name in ("a", "b")})
    assert found.kind == "metric"


@pytest.mark.parametrize("key", ["config/seed", "hparams/width", "args.noise", "model_config/loss"])
def test_what_stands_in_a_group_of_settings_is_one_whatever_it_is_called(key):
    assert set(kinds(f"{key}: 0.5", f"{key}: 0.6").values()) == {"setting"}


def test_entries_of_a_table_are_no_metrics_by_the_name_of_the_table(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{"stoi": {"a": 1, "*": 2, "b": 7}, "test": {"acc": 1, "f1": 0.5}}')
    found = judge({run: read_file(path, path.name).series for run in ("a", "b")})
    assert {one.slot.template: one.kind for one in found if "stoi" not in one.slot.template} == {
        "test/acc": "metric", "test/f1": "metric",
    }  # fmt: skip
    assert {one.kind for one in found if "stoi" in one.slot.template} == {"constant"}
