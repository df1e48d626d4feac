"""Logs as programs print them: which lines and boxes are values, and at which iteration."""

import re
import shlex
import time

import pytest
from test_import_tables import read, values

from deviate.core.errors import NotImportable, NotRuns


@pytest.fixture
def log(tmp_path):
    def write(text, name="train.log"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def iterations(results, metric):
    return [reading.iteration for run in results.runs for reading in run.readings if reading.metric == metric]


def box(steps, reward, rule="-" * 30):
    return (
        f"{rule}\n| eval/           |        |\n|    mean_return  | {reward}  |\n| time/           |        |\n"
        f"|    total_steps  | {steps}  |\n{rule}\n"
    )


def test_a_box_of_names_and_values_is_a_row(log):
    """The counter stands below the values that it counts."""
    results = read(log("Using the cpu device\n" + "".join(box(100 * k, k / 2) for k in (1, 2, 3))))
    assert values(results, "eval/mean_return") == {"train.log": [0.5, 1.0, 1.5]}
    assert iterations(results, "eval/mean_return") == [100, 200, 300]


def test_boxes_need_no_rules_between_them(log):
    text = "".join(f"│ acc      │ 0.{k} │\n│ episodes │ {k} │\n" for k in range(1, 5))
    assert iterations(read(log(text)), "acc") == [1, 2, 3, 4]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_lines_end_as_windows_or_a_progress_bar_ends_them(tmp_path, end):
    path = tmp_path / "train.log"
    path.write_bytes("".join(f"step 1/2\repoch {k} loss 0.{9 - k}{end}" for k in range(3)).encode())
    assert iterations(read(path), "loss") == [0, 1, 2]


def test_an_evaluation_before_the_training_line_is_of_its_own_step(log):
    text = "".join(
        (f"step {k}: train loss {9 - k / 100:.2f}, val loss {8 - k / 100:.2f}\n" if k % 20 == 0 else "")
        + f"iter {k}: loss {9.5 - k / 100:.2f}, time 12ms\n"
        for k in range(0, 60, 10)
    )
    results = read(log(text))
    assert iterations(results, "val loss") == [0, 20, 40]
    assert iterations(results, "loss") == [0, 10, 20, 30, 40, 50]


def test_a_part_of_the_data_before_a_number_names_it(log):
    results = read(
        log("[eval] iter 0: train 4.31 val 4.29\n[eval] iter 50: train 3.1 val 3.2\nepoch took train 2.2s\n")
    )
    assert values(results, "val") == {"train.log": [4.29, 3.2]}
    assert iterations(results, "train") == [0, 50]


def test_several_values_of_a_line_that_are_what_they_are_are_all_read(log):
    text = "".join(f"[epoch {k}] train loss is 0.{9 - k}, the test acc is 0.{k}\n" for k in range(4))
    results = read(log(text))
    assert values(results, "train loss") == {"train.log": [0.9, 0.8, 0.7, 0.6]}
    assert values(results, "test acc") == {"train.log": [0.0, 0.1, 0.2, 0.3]}


def test_a_line_of_a_form_of_its_own_has_its_counter(log):
    results = read(
        log(
            " iteration 10/ 90 | samples: 40 | loss scale: 8 |\n iteration 20/ 90 | samples: 80 | lm loss: 3.1 |\n"
            " iteration 30/ 90 | samples: 120 | lm loss: 2.9 | grad norm: 1.5 |\n"
        )
    )
    assert iterations(results, "lm loss") == [20, 30]


def test_a_counter_may_stand_in_brackets_and_before_some(log):
    text = "".join(f"Epoch {k}[16/640]: loss:0.{9 - k}\nepoch {k} ends\nmAP: 0.{k}\n" for k in range(1, 5))
    results = read(log(text))
    assert iterations(results, "loss") == iterations(results, "mAP") == [1, 2, 3, 4]


def test_a_progress_bar_counts_no_iterations(log):
    bar = "".join(f"Test iter: [{k}/4]\n" for k in range(4))
    text = "".join(f"Iter: {k}/900 loss: {9 - k / 100:.2f}\n{bar}Metric ssim: 0.{k}\n" for k in range(100, 500, 100))
    results = read(log(text))
    assert iterations(results, "Metric ssim") == iterations(results, "loss") == [100, 200, 300, 400]


def test_a_printed_configuration_is_no_training(log):
    with pytest.raises(NotImportable, match="does not show what it is"):
        read(log("SOLVER:\n  MAX_EPOCHS: 120\n  LOG_PERIOD: 20\nTEST:\n  WARMUP_ITERS: 10\n  BATCH: 64\n" * 2))


def test_what_never_changes_in_a_log_is_no_metric(log):
    results = read(log("".join(f"epoch {k} loss 0.{9 - k} workers: 4\n" for k in range(4))))
    assert {reading.metric for run in results.runs for reading in run.readings} == {"loss"}


def test_a_log_without_a_counter_is_refused_with_the_form_of_its_lines(log):
    path = log("".join(f"Train {k}, loss: 0.{9 - k}, acc: 0.{k}\n" for k in range(5)))
    with pytest.raises(NotImportable) as caught:
        read(path)
    words = shlex.split(caught.value.hint)
    results = read(path, patterns=[words[words.index("--pattern") + 1]])
    assert values(results, "loss") == {"train.log": [0.9, 0.8, 0.7, 0.6, 0.5]}
    assert iterations(results, "train acc" if iterations(results, "train acc") else "acc") == [0, 1, 2, 3, 4]


def test_a_part_of_the_data_holds_for_its_line_and_the_best_is_of_no_epoch(log):
    text = "".join(
        f"Epoch {k}/3\ntrain Loss: 0.{9 - k} Acc: 0.{k}\ntest Loss: 0.{8 - k} Acc: 0.{k}5\n" for k in (1, 2, 3)
    )
    results = read(log(text + "Best test Acc: 0.99\n"))
    assert values(results, "train Acc") == {"train.log": [0.1, 0.2, 0.3]}
    assert values(results, "test Acc") == {"train.log": [0.15, 0.25, 0.35]}
    assert values(results, "best test Acc") == {"train.log": [0.99]}


def test_values_between_quotes_are_named(log):
    lines = [f'stats: {{"epoch": {k}, \'loss\': 0.{9 - k}, "tags": [3, 4]}} done\n' for k in range(4)]
    assert values(read(log("".join(lines))), "loss") == {"train.log": [0.9, 0.8, 0.7, 0.6]}


def test_two_lines_of_one_iteration_and_rounded_counters_are_no_resumed_training(log):
    text = "".join(
        (f"step:{k} val_loss:{3 - k / 100:.2f} time:{k}ms\n" if k % 4 == 0 else "")
        + f"step:{k} loss:{4 - k / 100:.2f} time:{k}ms\n"
        for k in range(12)
    )
    results = read(log(text))
    assert not any("resumed" in note for note in results.notes)
    rounded = "".join(f"| frame | {k} |\n| value | 0.{k} |\n" for k in (1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9))
    assert not any("resumed" in note for note in read(log(rounded)).notes)


def test_an_evaluation_without_the_counter_repeats_no_iteration(log):
    """Both rows have a clock."""
    rows = [f'{{"iter": {k}, "loss": 0.{9 - k}, "data_time": 1.5, "step": {k}}}\n' for k in range(1, 7)]
    rows.insert(4, '{"mAP": 0.5, "data_time": 2.5, "step": 2}\n')
    results = read(log("".join(rows), "scalars.json"))
    assert iterations(results, "mAP") == [4]
    assert not any("resumed" in note for note in results.notes)


def test_markdown_may_show_a_value_bold_among_other_tables(log):
    text = (
        "# Notes\n\n| Epoch | Loss | Acc |\n|---|---|---|\n| 1 | 0.9 | 10% |\n| 2 | 0.8 | **20%** |\n"
        "| 3 | 0.7 | **30%** * |\n\nSome text.\n\n| Size | 3 |\n|---|---|\n| small | 4 |\n"
    )
    results = read(log(text, "README.md"))
    assert values(results, "Acc") == {"README.md": [10.0, 20.0, 30.0]}
    assert iterations(results, "Acc") == [1, 2, 3]


def test_yaml_is_read_as_json_is(log):
    path = log("DP:\n- 0.1\n- 0.2\n- 3e-1\nBA:\n- 0.4\n- 0.5\n- .nan\n", "base.yaml")
    with pytest.raises(NotRuns, match="3 rows") as caught:
        read(path)
    assert "--set rows=runs" in caught.value.hint
    results = read(path, rows="runs")
    assert [run.label for run in results.runs] == ["row 1", "row 2", "row 3"]
    assert list(values(results, "DP").values()) == [[0.1], [0.2], [0.3]]


@pytest.mark.parametrize(
    ("text", "what"),
    [("a: &x [1, 2]\nb: *x\n", "refers to its own parts"), ("a: [1]\na: [2]\n", "two values of 'a'"),
     ("a: [1\n", "is no YAML"), ("", "holds no row")],
)  # fmt: skip
def test_yaml_that_says_two_things_or_nothing_is_refused(log, text, what):
    with pytest.raises(NotImportable, match=re.escape(what)):
        read(log(text, "base.yml"))


def test_a_list_of_curves_is_a_run_each(log):
    runs = [f'{{"seed": {s}, "xs": [10, 20, 30, 40], "loss": [4, 3, 2, {s}]}}' for s in (0, 1)]
    path = log(f"[{', '.join(runs)}]", "scores.json")
    with pytest.raises(NotRuns) as asked:
        read(path)
    assert "--set iteration_column=xs if 'xs' counts iterations" in asked.value.hint
    results = read(path, iteration="xs")
    assert values(results, "loss") == {"seed 0": [4.0, 3.0, 2.0, 0.0], "seed 1": [4.0, 3.0, 2.0, 1.0]}
    assert iterations(results, "loss") == [10, 20, 30, 40] * 2


def test_a_short_list_of_a_row_is_metrics_by_place(log):
    rows = "".join(f'{{"epoch": {k}, "loss": 0.{9 - k}, "bbox": [0.1, 0.{k}]}}\n' for k in range(4))
    assert values(read(log(rows, "log.txt")), "bbox/1") == {"log.txt": [0.0, 0.1, 0.2, 0.3]}


def test_rows_of_one_iteration_may_be_trainings(log):
    path = log(
        '{"epoch": 0, "loss": 0.5, "bbox": [0.1, 0.2]}\n{"epoch": 0, "loss": 0.4, "bbox": [0.1, 0.3]}\n', "log.txt"
    )
    with pytest.raises(NotRuns) as caught:
        read(path)
    assert caught.value.hint.startswith("type --set rows=runs")
    assert list(values(read(path, rows="runs"), "loss").values()) == [[0.5], [0.4]]


def test_a_full_stop_ends_a_number(log):
    text = "".join(f"After epoch {k} the loss is 0.{9 - k}25.\n" for k in range(4))
    assert values(read(log(text)), "loss") == {"train.log": [0.925, 0.825, 0.725, 0.625]}


def test_a_bare_name_among_names_of_a_split_is_of_it(log):
    text = "".join(f"epoch {k} val_loss 0.{9 - k} acc 0.{k} val_f1 0.{k}5\n" for k in range(4))
    assert values(read(log(text)), "val acc") == {"train.log": [0.0, 0.1, 0.2, 0.3]}
    text = "".join(f"epoch {k} loss 0.{9 - k} acc 0.{k} val_loss 0.{9 - k} val_acc 0.{k}5\n" for k in range(4))
    assert values(read(log(text)), "acc") == {"train.log": [0.0, 0.1, 0.2, 0.3]}


def test_tensors_and_lines_of_a_program_name_no_values(log):
    code = "def f(x):\n    if x:\n        return 10\n    return 0.5\n"
    tensors = "".join(f"name = net/{k}/gamma:0, shape = ({k}68,)\n" for k in range(3))
    text = code + tensors + "".join(f"epoch {k} loss 0.{9 - k}\n" for k in range(4))
    assert {each.metric for each in read(log(text)).runs[0].readings} == {"loss"}


def test_what_each_of_several_logs_says_once_and_alike_is_left_out(log):
    paths = [
        log("".join(f"epoch {k} loss 0.{9 - k}{seed}\n" for k in range(4)) + "test score 12.5\n", f"{name}.log")
        for seed, name in enumerate("ab")
    ]
    results = read(*paths)
    assert {each.metric for run in results.runs for each in run.readings} == {"loss"}
    assert "No metrics: test score (settings by their values)" in results.notes[-1]


def test_logs_of_parts_of_the_data_are_one_training(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        for k, name in enumerate(("train.log", "test.log")):
            text = "".join(f"epoch {e} loss 0.{9 - e - k}{ord(folder) % 7}\n" for e in range(5))
            (tmp_path / folder / name).write_text(text)
    paths = [tmp_path / folder / name for folder in "ab" for name in ("train.log", "test.log")]
    results = read(*paths)
    assert [run.label for run in results.runs] == [str(tmp_path / folder) for folder in "ab"]
    assert len(values(results, "train loss")[str(tmp_path / "a")]) == 5
    assert len(values(results, "test loss")[str(tmp_path / "b")]) == 5
    assert "read as one training" in " ".join(results.notes)
    assert len(read(*paths, run=("file",)).runs) == 4


def test_of_a_folder_of_folders_the_parts_of_the_data_go_together_and_the_rest_is_named(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        for name, rows in (("train.csv", 5), ("val.csv", 5), ("probe.csv", 3)):
            text = "epoch,loss\n" + "".join(f"{e},0.{9 - e}{ord(folder) % 7}\n" for e in range(rows))
            (tmp_path / folder / name).write_text(text)
    results = read(tmp_path)
    assert {each.metric for run in results.runs for each in run.readings} == {"train loss", "val loss"}
    assert len(results.runs) == 2
    assert any("several folders have them: probe.csv" in note for note in results.notes)


def test_hints_of_a_folder_judge_files_by_what_they_hold(tmp_path):
    (tmp_path / "progress.txt").write_text("Epoch\tReturn\n0\t1.5\n1\t2.5\n2\t3.5\n")
    config = tmp_path / "config.json"
    config.write_text('{"lr": 0.1, "epochs": 3}')
    with pytest.raises(NotImportable) as asked:
        read(tmp_path, kind="csv")
    assert asked.value.hint.endswith("/progress.txt") or asked.value.hint.endswith("/*.txt")
    assert [run.label for run in read(tmp_path).runs] == ["progress.txt"]
    with pytest.raises(NotImportable, match="holds what was set"):
        read(config)


AMOUNTS = "".join(
    f"Parameters: num_epoch: {amount}, lr: 0.1\n"
    + "".join(f"Training epoch: {k}\n mean_loss: {amount / (k + 1):.3f}\n" for k in range(5))
    for amount in (50, 80, 70)
)


def test_an_amount_that_is_printed_as_a_setting_counts_nothing(log):
    results = read(log(AMOUNTS), iteration="epoch")
    assert len(results.runs) == 3
    assert values(results, "mean_loss")["train.log, training 1"] == [50.0, 25.0, 16.667, 12.5, 10.0]
    with pytest.raises(NotImportable):
        read(log("".join(f"Iters: 4675, loss: 0.{k}\n" for k in range(1, 6))))


def test_a_time_of_day_is_no_metric_and_the_hint_shows_a_line(log):
    lines = "".join(f"Epoch {k} @ 10:2{k} PM : 0.9{k} C.E. Loss, 9{k}% Accuracy\n" for k in range(5))
    with pytest.raises(NotImportable) as refused:
        read(log(lines))
    assert "lines such as 'Epoch 0 @ 10:20 PM : 0.90 C.E. Loss, 90% Accuracy'" in refused.value.hint
    results = read(log(lines), kind="log", patterns=("Epoch {epoch} ... M : {loss} ...",))
    assert values(results, "loss") == {"train.log": [0.9, 0.91, 0.92, 0.93, 0.94]}


def test_the_hint_for_a_log_of_settings_names_no_form_of_its_lines(log):
    with pytest.raises(NotImportable) as refused:
        read(log("INFO Namespace(layer_num=32, learning_rate=0.1, save_steps=500)\nINFO quantised 32 layers\n"))
    assert "layer_num=" not in refused.value.hint


def test_starts_that_may_have_been_broken_off_are_asked_about(log):
    text = "".join(f"step {k} loss 0.{9 - k % 9}{k}\n" for last in (2, 20) for k in range(last))
    with pytest.raises(NotRuns) as asked:
        read(log(text))
    assert "1 of them end before 25% of the longest" in asked.value.message
    assert len(read(log(text), iteration="step").runs) == 2
    assert len(read(log(text), rows="iterations").runs) == 1


def asked(path):
    with pytest.raises(NotRuns) as error:
        read(path)
    return error.value.message, re.findall(r"--pattern ('[^']*'|\S+)", error.value.hint)


def test_source_that_a_log_holds_is_no_pattern_to_type(log):
    source = 'print(f"step:{step} loss:{loss:.4f} 1")\n'
    _, forms = asked(log(source + "step:0 loss:3.9\nstep:5 loss:3.5\nloss:3.05 step:10\n"))
    assert forms
    assert not [form for form in forms if form.count("{") != len(re.findall(r"{\w+}", form))]


def test_a_metric_in_lines_of_two_forms_is_asked_about_and_each_form_leads_on(log):
    """A form may lack a field, or have another one; other words before the value are of another form."""
    lines = "".join(
        f"Epoch {k} | {'Step 9 | ' if k % 2 else ''}Loss: 0.{9 - k}\n"
        + (f"INFO Final results: Loss: 0.{8 - k}5\n" if k == 3 else "")
        for k in range(1, 5)
    )
    message, forms = asked(log(lines))
    assert "'Loss' stands in lines of 2 forms" in message
    for form, expected in zip(forms, ([0.8, 0.7, 0.6, 0.5], [0.55]), strict=True):
        pattern = shlex.split(form)[0]
        assert values(read(log(lines), patterns=[pattern]), "Loss")["train.log"] == expected
    assert values(read(log(lines.replace("INFO Final results: Loss: 0.55\n", ""))), "Loss")["train.log"][-1] == 0.5


def test_two_words_that_fall_on_one_part_of_the_data_are_asked_about(log):
    lines = "".join(
        f"Epoch {k} - {word} scores: BLEU 0.{k}{place}\n"
        for k in range(1, 5)
        for place, word in ((1, "Validation"), (7, "Dev"))
    )
    message, forms = asked(log(lines))
    assert "in lines of 2 forms" in message
    assert values(read(log(lines), patterns=[shlex.split(forms[1])[0]]), "val BLEU")["train.log"] == [
        0.17,
        0.27,
        0.37,
        0.47,
    ]


def test_several_values_of_a_metric_at_one_iteration_are_asked_about(log):
    lines = "".join(f"Epoch : {k}\n" + "".join(f"Loss : 0.{k}{b}\n" for b in range(3)) for k in range(1, 4))
    message, forms = asked(log(lines))
    assert "'Loss' stands with several values at one iteration" in message
    assert len(values(read(log(lines), patterns=[shlex.split(forms[0])[0]]), "Loss")["train.log"]) == 9


def test_of_names_and_values_in_pairs_none_is_read(log):
    """What belongs to what, nothing shows."""
    lines = "".join(
        f"Epoch {k} loss 0.{9 - k}\nIS, FID: 8.2{k}, 10.8{k}\nIS/FID: 8.2{k}/10.8{k}\nscores: 14.{k},28.{k},9.8\n"
        for k in range(1, 5)
    )
    results = read(log(lines))
    assert {reading.metric for run in results.runs for reading in run.readings} == {"loss"}


def test_a_metric_in_rows_of_a_table_too_is_asked_about(log):
    text = "".join(f"Epoch {k}/3\n09:31 Loss     | 0.{9 - k}1 | 0.{8 - k}2\n" for k in (1, 2, 3))
    path = log(f"{text}Best Epoch 2\nLoss: 0.55\nEpoch 3 again\nLoss: 0.54\n")
    message, forms = asked(path)
    assert "'Loss' stands in rows of a table, too" in message
    results = read(path, patterns=shlex.split(forms[0]))
    assert values(results, "Loss 1") == {"train.log": [0.81, 0.71, 0.61]}
    assert values(results, "Loss 2") == {"train.log": [0.72, 0.62, 0.52]}


def test_where_nothing_counts_each_form_of_line_with_a_result_is_shown(log):
    path = log("".join(f"accuracy: 9{k}%; F1: 8{k}%\n\n  PARK: F1: 7{k}%\n" for k in range(4)))
    with pytest.raises(NotImportable) as refused:
        read(path)
    whole, park = re.findall(r"--pattern ('[^']*')", refused.value.hint)
    assert values(read(path, patterns=shlex.split(whole)), "F1") == {"train.log": [80, 81, 82, 83]}
    assert values(read(path, patterns=shlex.split(park)), "F1") == {"train.log": [70, 71, 72, 73]}


def test_results_in_lines_that_no_counter_counts_are_asked_about(log):
    rest = "".join(f"Step {k}: entropy: 1.{k}\n" for k in range(4))
    path = log("".join(f"--- part {name} ---\n  loss={k}.5  ppl={k}3.1\n" for k, name in enumerate("abcd")) + rest)
    message, forms = asked(path)
    assert "'loss' stands in lines that no counter counts" in message
    assert values(read(path, patterns=shlex.split(forms[0])), "loss") == {"train.log": [0.5, 1.5, 2.5, 3.5]}


def test_values_at_one_iteration_alone_are_asked_about(log):
    text = "".join(f"step: {k}\n" for k in (0, 1000, 2000)) + "".join(f"throughput: 1.{k}\n" for k in range(4))
    message, forms = asked(log(text))
    assert "'throughput' stands with several values at one iteration" in message
    assert values(read(log(text), patterns=shlex.split(forms[0])), "throughput") == {"train.log": [1.0, 1.1, 1.2, 1.3]}


def test_what_is_printed_without_a_counter_beside_results_that_have_one_is_left_out(log):
    rows = "".join(f"Epoch {k} loss: 0.{9 - k}\n" for k in range(6))
    results = read(log(f"width: 12\n{rows}width: 16\n{rows}"), iteration="Epoch")
    assert [{each.metric for each in run.readings} for run in results.runs] == [{"loss"}, {"loss"}]
    assert any(note.startswith("Left out of these lines: the numbers behind 'width'.") for note in results.notes)


def test_values_within_an_iteration_but_the_last_are_said_to_be_left_out(log):
    text = "".join(f"Epoch [{k}/3], Step [{j}/40] loss: 0.{9 - k}{j}\n" for k in (1, 2, 3) for j in (10, 20))
    results = read(log(text))
    assert values(results, "loss")["train.log"][-1] == 0.62
    assert results.runs[0].notes == ["Of several values at one 'Epoch' the last counts: 3 before it are left out."]


def test_the_form_shown_tells_what_it_leaves_out(log):
    with pytest.raises(NotImportable) as refused:
        read(log("".join(f"Acc 0.8{k} | Rog 0.7{k} | F1 0.6{k}\n" for k in range(4))))
    assert "to count such lines in their order, with --set rows=runs if each is" in refused.value.hint
    assert refused.value.hint.endswith("; it leaves out the numbers behind 'Rog'")


def test_a_counter_that_stands_still_is_no_field_of_the_form_that_is_shown(log):
    path = log("".join(f"Epoch [1][{k}0/99] lr: 0.1 loss: 0.{9 - k}\n" for k in range(1, 5)))
    with pytest.raises(NotImportable) as refused:
        read(path)
    form = re.search(r"--pattern ('[^']*')", refused.value.hint)[1]
    assert values(read(path, patterns=shlex.split(form)), "loss") == {"train.log": [0.8, 0.7, 0.6, 0.5]}


def test_a_metric_over_a_range_has_its_whole_name(log):
    text = "".join(f"epoch {k} loss: 0.{9 - k} mAP@0.5: 0.{k}5 mAP@0.5:0.95: 0.{k}2\n" for k in range(4))
    results = read(log(text))
    assert values(results, "mAP@0.5:0.95") == {"train.log": [0.02, 0.12, 0.22, 0.32]}
    assert values(results, "mAP@0.5") == {"train.log": [0.05, 0.15, 0.25, 0.35]}
    assert "{mAP@0.5:0.95}" in results.notes[0]


def test_lines_of_numbers_without_names_have_a_hint_that_reads_them(log):
    path = log("".join(f"{k}/9  3.{k}G  0.{k}1  0.{k}2  0.{k}3  640  0.9\n" for k in range(10)), "results.txt")
    with pytest.raises(NotImportable) as refused:
        read(path)
    (form,) = re.findall("--pattern '(.*)'", refused.value.hint)
    assert values(read(path, patterns=(form,)), "value 4") == {"results.txt": [float(f"0.{k}1") for k in range(10)]}


def test_two_metrics_of_one_word_behind_their_owners_are_two(log):
    text = "".join(f"[{k}00]\ttraining's rmse: 0.{9 - k}\tvalid_1's rmse: 1.{9 - k}\n" for k in range(1, 6))
    results = read(log(text))
    assert values(results, "training's rmse") == {"train.log": [0.8, 0.7, 0.6, 0.5, 0.4]}
    assert values(results, "valid_1's rmse") == {"train.log": [1.8, 1.7, 1.6, 1.5, 1.4]}


def test_a_log_that_powershell_wrote_is_read(log):
    path = log("")
    path.write_bytes("".join(f"epoch {k} loss: 0.{9 - k}\r\n" for k in range(4)).encode("utf-16"))
    assert values(read(path), "loss") == {"train.log": [0.9, 0.8, 0.7, 0.6]}


def test_a_name_in_a_pattern_is_no_end_of_a_longer_one(log):
    text = "".join(f"epoch: {k}, acc: 0.{k}1\nepoch: {k}, eval_acc: 0.{k}2\n" for k in range(5))
    results = read(log(text), kind="log", patterns=("epoch: {epoch} ... acc: {acc}",))
    assert values(results, "acc") == {"train.log": [0.01, 0.11, 0.21, 0.31, 0.41]}


def test_numbers_called_by_a_part_of_the_data_alone_are_values(log):
    once = "".join(f"Epoch {k:3} | Train: 0.{9 - k}1 | Val: 0.{9 - k}5 | Time: {k}.5m\n" for k in range(1, 6))
    with pytest.raises(NotRuns, match="5 trainings"):
        read(log(once * 3 + once[:49] + once))
    results = read(log(once))
    assert values(results, "Val") == {"train.log": [0.85, 0.75, 0.65, 0.55, 0.45]}


def test_blanks_may_stand_before_a_number_in_brackets(log):
    text = "".join(f"Epoch [{k:3}/10] | Loss 0.{20 - k} | Accuracy_dev 0.{k + 30}\n" for k in range(1, 11))
    assert iterations(read(log(text)), "Loss") == list(range(1, 11))


@pytest.mark.parametrize("line", ["param {", "  warnings.warn('it is deprecated. Use another.')"])
def test_a_line_of_a_log_is_no_head_of_a_table(log, line):
    text = f"{line}\n" + "".join(f"Epoch {k} || Loss: 0.{9 - k}1\n" for k in range(6))
    text += "".join("lr_mult: 1\n" for _ in range(80))
    assert values(read(log(text)), "Loss") == {"train.log": [0.91, 0.81, 0.71, 0.61, 0.51, 0.41]}


def test_lines_of_one_form_are_of_the_part_that_a_line_above_names(log):
    text = "".join(
        f"10:0{k} log/train.log evaluate: {part}\nseen 900 tokens\n10:0{k} log/train.log accuracy: 0.{k}{place}\n"
        for k in range(3)
        for place, part in enumerate(("dev", "test"))
    )
    results = read(log(text), patterns=["accuracy: {accuracy}"])
    assert values(results, "dev accuracy") == {"train.log": [0.0, 0.10, 0.20]}
    assert values(results, "test accuracy") == {"train.log": [0.01, 0.11, 0.21]}


def test_lines_that_a_pattern_reads_may_each_be_of_a_training(log):
    text = "".join(f"trial done <val/acc={value}>\n" for value in (0.5, 0.7))
    with pytest.raises(NotImportable) as refused:
        read(log(text))
    assert re.search(r"<val/acc={val/acc}.*--set rows=runs", refused.value.hint)
    results = read(log(text), patterns=["<val/acc={val/acc}"], rows="runs")
    assert values(results, "val/acc") == {"row 1": [0.5], "row 2": [0.7]}


def test_a_hint_names_the_part_of_the_data_that_its_lines_tell(log):
    """``epoch:[  1/9 ] train step:0 loss: 3.1``: the word before the first value holds for those behind it."""
    text = "".join(
        f"[12/25 14:2{k}:40] epoch:[ {k:2d}/9 ] {part} step:{step} loss: {value}.{k}\n"
        for k in range(1, 5)
        for part, step, value in (("train", 0, 4), ("train", 100, 3), ("val", 0, 7))
    )
    message, forms = asked(log(text))
    assert message.endswith("'train loss' stands with several values at one iteration")
    assert "train step:{step}" in forms[0]
    results = read(log(text), patterns=[shlex.split(forms[0])[0]])
    assert values(results, "train loss")["train.log"][-1] == 3.4
    assert iterations(results, "train loss")[-1] == 4


@pytest.mark.parametrize("begin", ["[ERROR] DEVICE(19,7f): ", "2024-05-01 12:00:00 - ERROR - "])
def test_lines_of_errors_hold_no_metrics(log, begin):
    text = "".join(f"epoch: {k} loss is 0.{9 - k}\n" for k in range(5))
    errors = f"{begin}stop failed. | Error Number: 0\n{begin}copy failed, Error Number: 710\n"
    assert {reading.metric for reading in read(log(text + errors)).runs[0].readings} == {"loss"}


def test_lines_of_a_count_a_word_and_a_value_are_named_by_a_hint_that_leads_on(log):
    text = "".join(
        (f"{k} val {9 - k / 100}\n{k} hella 0.{k + 20}\n" if k % 20 == 0 else "") + f"{k} train {9.5 - k / 100}\n"
        for k in range(0, 60, 10)
    )
    with pytest.raises(NotImportable) as error:
        read(log(text, "log.txt"))
    typed = shlex.split(error.value.hint.removesuffix(" to read all such lines"))[2::2]
    results = read(log(text, "log.txt"), patterns=typed)
    assert values(results, "val")["log.txt"] == [9.0, 8.8, 8.6]
    assert iterations(results, "hella") == [0, 20, 40]
    assert iterations(results, "train") == [0, 10, 20, 30, 40, 50]


def test_items_of_a_list_behind_a_blank_have_their_places(log):
    """As NumPy prints an array, the second of which ends in a later line."""
    text = "".join(f"epoch {k} AP: [ 0.{k}1  0.{k}2]\nepoch {k} grad: [ 0.{k}3 -0.{k}4\n  0.5 ]\n" for k in range(1, 5))
    results = read(log(text))
    assert {reading.metric for reading in results.runs[0].readings} == {"AP/0", "AP/1", "grad/0", "grad/1"}
    assert values(results, "AP/1")["train.log"] == [0.12, 0.22, 0.32, 0.42]
    assert values(results, "grad/1")["train.log"] == [-0.14, -0.24, -0.34, -0.44]


def test_names_are_of_letters_of_any_language(log):
    text = "".join(
        f"Epoch: {k} | Batch: {b}/2 | Loss: {5 - k / 10 - b / 100:.2f}\n"
        f"Epoch {k} 完成 | 验证损失：{6 - k / 10:.1f} | acurácia = 0.{k}\n"
        for k in range(1, 5)
        for b in (1, 2)
    )
    results = read(log(text))
    assert values(results, "验证损失")["train.log"][-1] == 5.6
    assert values(results, "acurácia")["train.log"][-1] == 0.4
    assert iterations(results, "验证损失")[-1] == 4


def test_a_fraction_without_a_name_counts_within_the_counter_before_it(log):
    text = "".join(f"epoch: {k}, {b}/2\nloss 0.{9 - k}{b} acc 0.{k}{b}\n" for k in range(1, 5) for b in (1, 2))
    results = read(log(text))
    assert values(results, "loss")["train.log"][-1] == 0.52
    assert iterations(results, "acc") == [1, 1, 2, 2, 3, 3, 4, 4]


def test_what_is_numbered_evenly_but_is_an_example_counts_nothing(log):
    text = "".join(f"Subject: {k}  seed 1  valid_acc: 0.{k}5\n" for k in range(1, 9))
    with pytest.raises(NotImportable) as error:
        read(log(text))
    assert "--pattern 'Subject: {Subject} ... valid_acc: {valid_acc}'" in error.value.hint


def test_a_metric_of_one_part_of_the_data_has_one_form_whatever_follows_it(log):
    text = "".join(
        f"Epoch {k} | Train Loss: 0.{9 - k}" + (f" | Valid Loss: 0.{9 - k}5" if k % 2 else "") + "\n"
        for k in range(1, 9)
    )
    results = read(log(text))
    assert values(results, "Train Loss") == {"train.log": [0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]}
    assert iterations(results, "Valid Loss") == [1, 3, 5, 7]


def test_lines_of_one_form_of_which_few_have_no_part_of_the_data_above_them_are_told_apart(log):
    text = "epoch: 0, loss is: 0.9\n" + "".join(
        f"testing in eval mode\nepoch: {k}, loss is: 0.{8 - k}5\nNow continue training\n"
        f"epoch: {k + 1}, loss is: 0.{8 - k}\n"
        for k in range(5)
    )
    results = read(log(text), patterns=["epoch: {epoch} ... loss is: {loss is}"])
    assert values(results, "training loss is") == {"train.log": [0.8, 0.7, 0.6, 0.5, 0.4]}
    assert values(results, "eval loss is") == {"train.log": [0.85, 0.75, 0.65, 0.55, 0.45]}


@pytest.mark.parametrize("word", ["x" * 8000, "=" * 8000, "1" * 8000, "0.123," * 1300])
def test_a_long_word_takes_no_longer_than_its_length(log, word):
    """Each such line took a second or more."""
    began = time.process_time()
    results = read(log(f"{word}\n" * 8 + "".join(f"epoch {k} loss 0.{9 - k}\n" for k in range(5))))
    assert time.process_time() - began < 3
    assert iterations(results, "loss") == [0, 1, 2, 3, 4]


def test_the_hint_names_the_clear_lines_beside_those_that_are_not(log):
    text = "".join(
        f"epoch: {k}, {b}/2\nloss 0.{9 - k}{b}\n" + f"epoch: {k} val_acc 0.{k}5\n" * (b == 2)
        for k in range(1, 5)
        for b in (1, 2)
    )
    _, forms = asked(log(text))
    typed = [shlex.split(form)[0] for form in forms]
    assert typed[0] == "loss {loss}"
    assert "epoch: {epoch} ... val_acc {val_acc}" in typed
    results = read(log(text), patterns=typed)
    assert values(results, "loss")["train.log"][-1] == 0.52
    assert iterations(results, "val_acc") == [1, 2, 3, 4]
