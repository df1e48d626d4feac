"""Each number that runs reported in text is measured, observed, or no metric for a reason."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from made import make_experiment, make_run, metric

from deviate.core.experiment import ObservedWish, Run
from deviate.observe.metrics import measured_metrics
from deviate.observe.observation import Printed
from deviate.observe.reported import mined_run, reported_numbers
from deviate.observe.tables import open_tables

TICK, STDOUT = -1, -2


def log(seed: int, epochs: int = 6) -> str:
    """What a run printed: a loss that the source shows, an accuracy that it does not, a counter, a setting."""
    random = np.random.default_rng(seed)
    lines = [f"device cpu, width {64}"]
    for epoch in range(epochs):
        loss, accuracy = 2 / (epoch + 1) + random.normal() / 50, 50 + 5 * epoch + random.normal()
        lines.append(f"epoch {epoch} | train loss {loss:.4f} | val acc {accuracy:.2f}%")
    return "\n".join(lines) + "\n"


def losses(text: str) -> list[float]:
    return [float(line.split("loss ")[1].split(" ")[0]) for line in text.splitlines() if "loss" in line]


def make(folder, index, *, variant="control"):
    """A run that recorded its loss, with a little more digits than it printed."""
    text = log(index)
    rows, size = [], len(text.splitlines()[0]) + 1
    for epoch, (value, line) in enumerate(zip(losses(text), text.splitlines()[1:], strict=True)):
        rows += [(TICK, epoch, float(epoch), float(epoch)), (STDOUT, epoch, float(epoch), float(size))]
        rows.append((0, epoch, epoch + 0.5, value + 1e-6))
        size += len(line.encode()) + 1
    run = make_run(folder, index, rows, variant=variant)
    run.stdout_file.write_text(text)
    return run


@pytest.fixture
def folder(tmp_path):
    experiment = make_experiment(tmp_path, [metric("train loss", direction="lower", kind="loss")])
    for index in range(3):
        make(experiment, index)
    return experiment


def test_what_the_source_shows_is_joined_and_the_rest_is_observed_or_has_a_reason(folder):
    with open_tables(folder) as tables:
        numbers = {each.name: each for each in tables.observation.numbers["control"]}
    assert (numbers["train loss"].metric, numbers["train loss"].observed) == ("train loss", False)
    assert (numbers["val acc"].metric, numbers["val acc"].observed, numbers["val acc"].unit) == ("val acc", True, "%")
    assert {name for name, each in numbers.items() if each.varies} == {"train loss", "val acc"}
    assert {name for name, each in numbers.items() if each.reason} == {"epoch", "width"}


def test_observed_values_are_records_with_the_iteration_that_printed_them(folder):
    with open_tables(folder) as tables:
        records = tables.records()
        names = tables.names
    assert names == [("train loss", 0), ("val acc", -2)]
    seen = records[(records["metric"] == "val acc") & (records["run"] == 1)]
    printed = [float(line.split("acc ")[1].rstrip("%")) for line in log(1).splitlines()[1:]]
    assert seen["value"].tolist() == printed
    assert seen["iteration"].tolist() == [0, 1, 2, 3, 4, 5]
    assert seen["elapsed_s"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_records_at_the_same_place_are_in_one_order_in_every_run(tmp_path):
    experiment = make_experiment(tmp_path, [])
    names = ["recall", "error", "loss", "accuracy"]
    for index in range(2):
        run = make_run(experiment, index, [])
        lines = [f"{name}: {index + step + place:.2f}" for step in range(5) for place, name in enumerate(names)]
        run.stdout_file.write_text("\n".join(lines) + "\n")
    with open_tables(experiment) as tables:
        table = tables.records()
    orders = [table[table["run"] == index]["metric"].tolist() for index in range(2)]
    assert orders == [sorted(names) * 5] * 2


def test_the_last_value_of_an_observed_metric_may_be_no_number(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index in range(2):
        run = make_run(experiment, index, [])
        losses = [0.5 + index / 8, 0.25, math.nan]
        run.stdout_file.write_text("".join(f"epoch {epoch} val loss {loss}\n" for epoch, loss in enumerate(losses)))
    with open_tables(experiment) as tables:
        samples = tables.samples({"val loss": "last"})
        least = tables.samples({"val loss": "min"})
    assert str([row.value for row in samples if row.metric == "val loss"]) == "[nan, nan]"
    assert [row.value for row in least if row.metric == "val loss"] == [0.25, 0.25]


def test_observed_metrics_are_samples_that_say_so(folder):
    with open_tables(folder) as tables:
        samples = tables.samples()
        loss, accuracy, *_ = measured_metrics(folder.read_experiment(), tables.names, tables.observation.metrics)
    assert (loss.name, loss.observed, loss.source) == ("train loss", False, 0)
    assert (accuracy.name, accuracy.observed, accuracy.direction) == ("val acc", True, "higher")
    assert [row.value for row in samples if row.metric == "val acc"] == [
        float(log(index).strip().rpartition(" ")[2].rstrip("%")) for index in range(3)
    ]


def test_what_is_printed_twice_is_one_metric_with_most_digits(folder):
    for index in range(3):
        run = folder.run(Run(variant="control", index=index))
        with run.stdout_file.open("a") as file:
            for line in log(index).splitlines()[1:]:
                file.write(f"summary accuracy={float(line.split('acc ')[1].rstrip('%')):.1f}\n")
    with open_tables(folder) as tables:
        numbers = tables.observation.numbers["control"]
        observed = tables.observation.names
    assert observed == [("val acc", -2)]
    assert [each.metric for each in numbers if each.source == "stdout" and each.observed] == ["val acc", "val acc"]


def test_of_a_share_and_its_percentage_all_runs_show_the_same_one(tmp_path):
    experiment, shares = make_experiment(tmp_path, []), [(0.0133, 0.0188, 0.02), (0.0159, 0.0259, 0.0349)]
    for index, values in enumerate(shares):
        lines = [f"| {name:9} | {scale * share:<7.3g} |" for share in values
                 for name, scale in [("percentage", 100), ("share", 1), ("gap", 3)]]  # fmt: skip
        make_run(experiment, index, []).stdout_file.write_text("\n".join(lines) + "\n")
    with open_tables(experiment) as tables:
        (name,), samples = {each for each, _ in tables.observation.names} - {"gap"}, tables.samples()
    last = [row.value for row in samples if row.metric == name]
    assert [value / values[-1] for value, values in zip(last, shares, strict=True)] == pytest.approx([100, 100])


def test_files_that_runs_wrote_are_searched(folder):
    for index in range(3):
        run = folder.run(Run(variant="control", index=index))
        run.written.mkdir()
        (run.written / "result.json").write_text(f'{{"test_f1": {0.7 + index / 100}, "seed": 3}}')
    with open_tables(folder) as tables:
        numbers = {each.name: each for each in tables.observation.numbers["control"] if each.source == "result.json"}
    assert numbers["test_f1"].observed
    assert not numbers["seed"].metric
    assert numbers["seed"].reason


def test_what_stands_in_a_file_is_not_said_to_differ_before_what_has_a_place(tmp_path):
    for name, loss in (("placed", 0.125), ("unplaced", 0.0)):
        (tmp_path / name).mkdir()
        experiment = make_experiment(tmp_path / name, [metric("loss")])
        for index in range(2):
            run = make_run(experiment, index, [(TICK, 3, 1.0, 3.0), (0, 2, 1.2, 0.5), (0, 3, 1.5, 0.5 + index * loss)])
            run.written.mkdir()
            (run.written / "result.txt").write_text(f"mse: {0.7 + index / 100}\n")
        with open_tables(experiment) as tables:
            [first] = tables.identities()["control"].differences
        expected = ("loss", 3, True) if loss else ("mse", -1, False)
        assert (first.metric, first.iteration, first.placed) == expected


def test_runs_that_printed_the_same_are_identical_in_what_was_observed(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index, text in enumerate(["score 0.5\nscore 0.75\n", "score 0.5\nscore 0.75\n", "score 0.5\nscore 0.70\n"]):
        make_run(experiment, index, []).stdout_file.write_text(text)
    with open_tables(experiment) as tables:
        identity = tables.identities()["control"]
    assert identity.values == 2
    assert identity.classes == [["control-0", "control-1"], ["control-2"]]
    assert [(each.run, each.metric, each.value) for each in identity.differences] == [("control-2", "score", 0.7)]


def test_a_name_that_another_metric_has_is_told_apart(tmp_path):
    experiment = make_experiment(tmp_path, [metric("score")])
    for index in range(2):
        run = make_run(experiment, index, [(0, -1, 1.0, 8.125 + index)])
        run.stdout_file.write_text(f"score {0.5 + index / 10}\n")
    with open_tables(experiment) as tables:
        assert tables.names == [("score", 0), ("score (printed)", -2)]


def test_a_name_that_two_files_have_is_not_called_printed(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index in range(2):
        run = make_run(experiment, index, [])
        run.written.mkdir()
        for number, name in enumerate(("q.csv", "double.csv")):
            rows = [f"{step},{0.125 * step + index + number}\n" for step in range(4)]
            (run.written / name).write_text("".join(["step,score\n", *rows]))
    with open_tables(experiment) as tables:
        assert [name for name, _ in tables.names] == ["score", "score (written)"]


def test_files_that_only_random_folders_tell_apart_are_not_read(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index in range(2):
        run = make_run(experiment, index, [])
        # Two trainings of a run, whose folders are in another order in each run.
        for folder, score in ((".", 0.5), (f"mlruns/{index:032x}", 0.25), (f"mlruns/{1 - index:032x}", 0.75)):
            (run.written / folder).mkdir(parents=True, exist_ok=True)
            (run.written / folder / "report.txt").write_text(f"score: {score}\n")
        (run.written / f"{index:032x}").mkdir()
        (run.written / f"{index:032x}" / "alone.txt").write_text(f"f1: {0.5 + index / 8}\n")
    with open_tables(experiment) as tables:
        numbers = {each.name: each.source for each in tables.observation.numbers["control"]}
        [first] = tables.identities()["control"].differences
    assert numbers == {"score": "report.txt", "f1": "⟨id⟩/alone.txt"}
    assert first.metric == "f1"


def test_mining_is_done_once_and_again_where_the_text_changed(folder, tmp_path):
    run = folder.run(Run(variant="control", index=0))
    before = [each.series.slot.name for each in mined_run(run).series]
    stamp = run.reported_file.stat().st_mtime_ns
    assert [each.series.slot.name for each in mined_run(run).series] == before
    assert run.reported_file.stat().st_mtime_ns == stamp
    with run.stdout_file.open("a") as file:
        file.write("perplexity 12.5\n")
    assert "perplexity" in [each.series.slot.name for each in mined_run(run).series]


def test_half_a_pair_of_surrogates_in_a_key_is_replaced(folder):
    run = folder.run(Run(variant="control", index=0))
    run.written.mkdir(exist_ok=True)
    (run.written / "log.jsonl").write_text('{"sc\\udcffore": 0.5}\n{"sc\\udcffore": 0.75}\n')
    assert "sc?ore" in [each.series.slot.name for each in mined_run(run).series]


def test_nothing_printed_is_nothing_reported():
    assert reported_numbers({"control-0": []}, {"control-0": {}}) == []


def wished(folder, *wishes):
    experiment = folder.read_experiment()
    folder.write_experiment(msgspec.structs.replace(experiment, observed=list(wishes)))
    with open_tables(folder) as tables:
        return tables.observation


def test_an_observed_metric_is_called_and_read_as_the_user_says(folder):
    wish = ObservedWish(name="val acc", rename="accuracy", aggregate="best", direction="lower", kind="loss")
    metric = wished(folder, wish).metrics["accuracy"]
    assert (metric.aggregate, metric.direction, metric.kind, metric.unit) == ("best", "lower", "loss", "%")


def test_an_observed_metric_that_the_user_refuses_is_none(folder):
    observation = wished(folder, ObservedWish(name="val acc", metric=False))
    assert "val acc" not in observation.metrics
    refused = [each.reason for each in observation.numbers["control"] if each.name == "val acc"]
    assert refused == ["refused in deviate.toml"]


def test_a_number_that_the_user_adds_is_a_metric(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index in range(2):
        make_run(experiment, index, []).stdout_file.write_text(f"score {0.5 + index}\nparameters: 120\n")
    assert "parameters" not in wished(experiment).metrics
    assert "parameters" in wished(experiment, ObservedWish(name="parameters")).metrics


def test_no_metric_is_renamed_to_the_name_of_another(folder):
    assert "train loss (printed)" in wished(folder, ObservedWish(name="val acc", rename="train loss")).metrics


def test_a_duration_is_a_metric_of_speed_by_its_unit(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index in range(2):
        make_run(experiment, index, []).stdout_file.write_text(f"total: {1.5 + index} s\n")
    metric = wished(experiment).metrics["total time"]
    assert (metric.kind, metric.direction, metric.unit) == ("speed", "lower", "s")


def make_bare(experiment, index, unseen=()):
    """A run that prints its epoch, its time and its loss on lines of their own, and values that nothing recorded."""
    text, rows = "", []
    for epoch in range(3):
        seconds, loss = 0.01 + index / 977 + epoch / 1013, (0.7634555498758951 + index / 983) / (epoch + 1)
        rows += [(TICK, epoch, float(epoch), float(epoch)), (STDOUT, epoch, float(epoch), float(len(text)))]
        rows += [(0, epoch, epoch + 0.5, seconds), (1, epoch, epoch + 0.6, loss)]
        text += f"{epoch}\n{seconds!r}\n{loss!r}\n"
        text += "".join(f"{value + index / 991!r}\n" for value in unseen)
    make_run(experiment, index, rows).stdout_file.write_text(text)


def test_lines_that_hold_a_number_alone_show_several_metrics(tmp_path):
    experiment = make_experiment(tmp_path, [metric("time", kind="speed"), metric("loss", kind="loss")])
    for index in range(2):
        make_bare(experiment, index)
    with open_tables(experiment) as tables:
        [number] = tables.observation.numbers["control"]
        assert number.metric in {"time", "loss"}
        assert (number.observed, number.varies) == (False, True)
        assert tables.names == [("loss", 1), ("time", 0)]


def test_where_the_source_shows_metrics_a_number_that_nothing_names_is_none(tmp_path):
    experiment = make_experiment(tmp_path, [metric("time", kind="speed"), metric("loss", kind="loss")])
    for index in range(2):
        make_bare(experiment, index, unseen=[0.123456789])
    with open_tables(experiment) as tables:
        [number] = tables.observation.numbers["control"]
        assert (number.metric, number.reason) == ("", "nothing names it")


def test_a_number_in_the_name_of_a_metric_of_the_source_is_none(tmp_path):
    experiment = make_experiment(tmp_path, [metric("Precision at 0.75 IoU")])
    for index in range(2):
        values = [0.4171 + index / 983 + epoch / 1013 for epoch in range(4)]
        run = make_run(experiment, index, [(0, k, float(k), value) for k, value in enumerate(values)])
        run.stdout_file.write_text("".join(f"Precision at 0.75 IoU {value:.6f}\n" for value in values))
    with open_tables(experiment) as tables:
        assert [name for name, _ in tables.names] == ["Precision at 0.75 IoU"]


def test_what_is_a_metric_in_one_variant_is_one_in_the_others(tmp_path):
    experiment = make_experiment(tmp_path, [])
    for index in range(2):
        held, varied = make_run(experiment, index, []), make_run(experiment, index, [], variant="algo")
        held.stdout_file.write_text("iter = 19, rew = 1.5\niter = 14, rew = 2.5\n")
        varied.stdout_file.write_text(f"iter = 19, rew = 1.5\niter = {14 - index}, rew = {2.5 + index}\n")
    with open_tables(experiment) as tables:
        numbers = tables.observation.numbers
    shown = {variant: {each.name: (each.metric, each.varies) for each in every} for variant, every in numbers.items()}
    assert shown == {
        "control": {"iter": ("iter", False), "rew": ("rew", False)},
        "algo": {"iter": ("iter", True), "rew": ("rew", True)},
    }


def test_the_losses_of_two_loops_printed_in_one_form_are_no_third_loss(tmp_path):
    experiment = make_experiment(tmp_path, [metric("loss"), metric("loss #2")])
    for index in range(3):
        random = np.random.default_rng(index)
        first, second = random.random(5), random.random(9)
        rows = [(0, k, float(k), value) for k, value in enumerate(first)]
        rows += [(1, 4, 5.0 + k, value) for k, value in enumerate(second)]
        run = make_run(experiment, index, rows)
        lines = [f"Epoch {k}: loss={value:.6f}\n" for part in (first, second) for k, value in enumerate(part)]
        run.stdout_file.write_text("".join(lines))
    with open_tables(experiment) as tables:
        assert [name for name, _ in tables.names] == ["loss", "loss #2"]
        numbers = {each.name: each.metric for each in tables.observation.numbers["control"]}
    assert numbers["loss"] == "loss #2"


def test_a_metric_of_the_source_is_written_as_it_was_printed(tmp_path):
    random = np.random.default_rng(0)
    experiment = make_experiment(tmp_path, [metric("acc"), metric("f1"), metric("loss")])
    values = [(90 + 9 * random.random(), random.random()) for _ in range(12)]
    run = make_run(experiment, 0, [(i, e, float(e), pair[i]) for e, pair in enumerate(values) for i in range(2)])
    run.stdout_file.write_text("".join(f"acc: {acc:.2f}% f1: {100 * f1:.2f}%\n" for acc, f1 in values))
    run.write_outcome(run.read_outcome())
    with open_tables(experiment) as tables:
        # A fraction that is printed in percent is another number.
        assert tables.printed == {"acc": Printed(2, "%")}
