"""What is known of a metric by its name in the records."""

from __future__ import annotations

import pytest

from deviate.core.experiment import Capture, Experiment, Metric
from deviate.observe.metrics import measured_metrics

LOGGED = Metric(
    name="logs", variable="logs", expression="logs", file="train.py", line=1, end_line=1, function="", sink="wandb",
    kind="quality", direction=None, aggregate="last", confidence=0.5, why="", capture=Capture(how="mapping"),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="x", command=[], entry="", metrics=[LOGGED], main_loop=None, source="", seed=0, planned={}, created=""
)


@pytest.mark.parametrize(
    ("name", "kind", "direction", "aggregate"),
    [
        ("val/acc", "quality", "higher", "last"),
        ("train_loss", "loss", "lower", "last"),
        ("time/fps", "speed", "higher", "mean"),
        ("kl_of_it", "quality", None, "last"),
        ("widgets", "quality", None, "last"),
    ],
)
@pytest.mark.parametrize("position", [0, -1])
def test_a_key_made_at_run_time_says_what_its_value_is(name, kind, direction, aggregate, position):
    metric = measured_metrics(EXPERIMENT, [(name, position)])[0]
    assert (metric.kind, metric.direction, metric.aggregate) == (kind, direction, aggregate)
