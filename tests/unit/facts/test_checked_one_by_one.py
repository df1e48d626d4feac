"""Checks of one metric after the other: counted as comparisons are, and corrected for."""

import numpy as np
import pytest
from compared_sides import write_experiment
from test_checked_again import said

from deviate.facts.comparison_options import Drop, GateOptions
from deviate.facts.gate import read_gate
from deviate.report.topics.gate import gate_reasons
from deviate.store.folders import Workspace

NAMES = ("acc", "f1", "recall")


def made(project, *experiments, shift=0.0):
    rng = np.random.default_rng(2)
    project.mkdir(exist_ok=True)
    for name in experiments:
        down = shift if name != "base" else 0.0
        write_experiment(project, name, {metric: (90 - down + rng.standard_normal(8)).tolist() for metric in NAMES})
    return Workspace(project)


def check(workspace, *metrics, name="new", drop=0.0):
    return read_gate(workspace, name, "base", GateOptions(drops={metric: Drop(drop) for metric in metrics}))


def test_the_first_metric_has_all_of_alpha_and_the_next_ones_share_a_tenth(tmp_path):
    workspace = made(tmp_path, "new", "base")
    found = [check(workspace, name).metrics[0] for name in NAMES]
    assert [metric.claim for metric in found] == [1, 2, 3]
    for metric, factor in zip(found, (1, 20, 60), strict=True):
        assert metric.p_worse_adjusted == pytest.approx(min(1.0, factor * metric.p_worse))
    assert "2 earlier checks of these runs asked about other metrics" in " ".join(gate_reasons(found[2], 0.05))
    again = check(workspace, "f1").metrics[0]
    assert (again.claim, again.p_worse_adjusted) == (2, found[1].p_worse_adjusted)


def test_another_limit_is_no_other_question_and_metrics_of_one_check_stay_together(tmp_path):
    workspace = made(tmp_path, "new", "base")
    check(workspace, *NAMES)
    alone = check(workspace, "f1", drop=0.5).metrics[0]
    assert (alone.claim, alone.family) == (1, 3)
    assert alone.p_worse_adjusted == pytest.approx(min(1.0, 3 * alone.p_worse))


def test_a_gate_that_asks_each_candidate_the_same_is_not_counted(tmp_path):
    workspace = made(tmp_path, "base", "new", "newer", "newest")
    claims = [check(workspace, "acc", name=name).metrics[0].claim for name in ("new", "newer", "newest")]
    assert claims == [1, 1, 1]


def test_a_drop_that_the_first_check_would_have_shown_is_named(tmp_path):
    workspace = made(tmp_path, "new", "base", shift=0.6)
    first = {name: check(made(tmp_path / name, "new", "base", shift=0.6), name).metrics[0] for name in NAMES}
    check(workspace, "acc")
    later = check(workspace, "f1")
    assert first["f1"].outcome == "worse"
    assert (later.metrics[0].outcome, later.metrics[0].drop_seen > 0) == ("no drop shown", True)
    assert "f1: the first check of these runs would have shown the drop" in said(later)
