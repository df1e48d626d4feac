"""Statistics of what a plain loop changes are metrics; units say which way a speed is better."""

import pytest
from analysed_projects import analyse, looped

LOOP = """
import numpy as np

rng = np.random.default_rng()
w = rng.normal(size=200)
for epoch in range(3):
    w = w - 0.1 * w + 0.01 * rng.normal(size=200)
    {given}
    print(f"epoch {{epoch}} loss {{(w**2).mean():.4f}} kept {{{shown}:.4f}}")
"""


@pytest.mark.parametrize(
    ("given", "shown", "is_metric"),
    [
        ("kept = float((np.abs(w) > 0.2).mean())", "kept", True),
        ("kept = np.count_nonzero(w > 0.2) / w.size", "kept", True),
        ("pass", "np.mean(w > 0)", True),
        ("kept = 10 ** rng.uniform(-4, -1)", "kept", False),
        ("kept = rng.random()", "kept", False),
    ],
)
def test_a_statistic_of_what_a_loop_changes_is_a_metric(tmp_path, given, shown, is_metric):
    found = analyse(tmp_path, train=LOOP.format(given=given, shown=shown))
    metrics = {metric.name: (metric.kind, metric.direction) for metric in found.metrics if metric.selected}
    assert metrics.get("kept") == (("quality", None) if is_metric else None)


@pytest.mark.parametrize(
    ("report", "direction"),
    [
        ("print('speed: {:.4f}s/iter'.format(time.time() - start))", "lower"),
        ("print(f'speed {1 / (time.time() - start):.1f} it/s')", "higher"),
        ("print(f'{time.time() - start:.3f} sec/step')", "lower"),
    ],
)
def test_the_unit_of_a_speed_says_which_way_is_better(tmp_path, report, direction):
    (metric,) = analyse(tmp_path, train=looped(f"start = time.time()\n{report}")).metrics
    assert (metric.kind, metric.direction, metric.aggregate) == ("speed", direction, "mean")


def test_a_unit_names_no_value_behind_it(tmp_path):
    report = "took = time.time() - start\nprint(f'{took:.3f} s/epoch {100 / took:.0f} it/s')"
    metrics = analyse(tmp_path, train=looped(f"start = time.time()\n{report}")).metrics
    assert {(metric.name, metric.direction) for metric in metrics} == {("s/epoch", "lower"), ("it/s", "higher")}


@pytest.mark.parametrize("unit", ["s", "ms", " s", "s |"])
def test_a_unit_directly_behind_a_value_is_no_part_of_the_next_name(tmp_path, unit):
    report = f"print(f'time={{time.time() - start:.3f}}{unit} loss={{loss.item():.4f}}')"
    metrics = analyse(tmp_path, train=looped(f"start = time.time()\n{report}")).metrics
    assert {metric.name for metric in metrics} == {"time", "loss"}


def test_a_duration_is_not_called_as_the_clock_reading_before_it(tmp_path):
    report = "print(f'Epoch {epoch} | {time.time() - before_train_time:.3f}s | loss: {loss.item():.4f}')"
    metrics = analyse(tmp_path, train=looped(f"before_train_time = time.time()\n{report}")).metrics
    assert {metric.name for metric in metrics} == {"time", "loss"}


@pytest.mark.parametrize(
    "before", ["Epoch {epoch}/5 acc:", "Step {epoch} / 500,", "({epoch}/5)", "Round {epoch} out of 5"]
)
def test_the_whole_of_a_counter_is_part_of_no_name(tmp_path, before):
    (metric,) = analyse(tmp_path, train=looped(f"print(f'{before} {{loss.item():.4f}}')")).metrics
    assert "5" not in metric.name, metric.name
