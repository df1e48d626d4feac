"""A check of groups of examples: the accuracy on each is a metric that must not fall."""

import json
from xml.etree import ElementTree

import numpy as np
import predicted_cases as made
import pytest
import report_cases as cases
from msgspec import structs
from statsmodels.stats.multitest import multipletests

from deviate.core.errors import BadOption
from deviate.facts.comparison_options import Drop, GateOptions, check_gate_options
from deviate.facts.gate import check_side
from deviate.facts.side import make_side
from deviate.observe.examples import Grouping, Groups
from deviate.report.topics.gate import gate_methods, gate_page
from deviate.report.writers.contracts import gate_json
from deviate.report.writers.gate_junit import gate_junit
from deviate.report.writers.terminal import render_terminal
from deviate.stats.gates import share_noninferiority

HALVES = Groups("groups.csv", "index", (Grouping("half", ("first", "second"), np.arange(120) // 60),))
BASE = made.predictions(8, examples=120, seed=1)
SAME = made.predictions(8, examples=120, seed=2)
#: Wrong on a third of the first half, as good as before on the rest.
WORSE = made.predictions(
    8, examples=120, labels=np.where(np.arange(120) < 20, (SAME.targets + 1) % 3, SAME.labels), seed=2
)


def side(name, predicted, groups=(HALVES,), metric="test acc"):
    values = [float(share) for share in (predicted.labels == predicted.targets).mean(axis=1)]
    plain = cases.results({"algo+impl": {"test acc": values}})
    known = made.evaluation(predicted, groups=list(groups), metric=metric)
    return make_side(structs.replace(plain, evaluations={"algo+impl": [known]}), "algo+impl", name)


def checked(predicted, *, drop=0.3, groups=("groups.csv",), base=BASE, **changes):
    options = GateOptions(drops={"test acc": Drop(0.5)}, groups=groups, max_group_drop=drop, **changes)
    return check_side(side("new", predicted), side("old", base), options)


def accuracies(predicted, chosen):
    return (predicted.labels[:, chosen] == predicted.targets[chosen]).mean(axis=1)


def test_the_accuracy_on_each_group_is_tested_as_a_share_of_its_examples():
    gate = checked(SAME)
    assert gate.passed
    assert [group.label for group in gate.groups.groups] == ["half=first", "half=second"]
    for place, group in enumerate(gate.groups.groups):
        chosen = np.arange(120) // 60 == place
        a, b = accuracies(SAME, chosen), accuracies(BASE, chosen)
        reference = share_noninferiority(a, b - 0.3, 0.05, examples=60, baseline=b.mean(), rng=np.random.default_rng(0))
        assert group.examples == 60
        assert group.accuracy.mean_a == pytest.approx(a.mean(), abs=1e-12)
        assert group.accuracy.p_not_worse == pytest.approx(reference.p_not_worse, rel=1e-9)
        assert group.accuracy.test == "welch_permutation"
        assert group.accuracy.outcome == "not worse"


def test_one_group_that_falls_fails_a_check_whose_metric_passes():
    gate = checked(WORSE, drop=0.02)
    assert [metric.outcome for metric in gate.metrics] == ["not worse"]
    assert gate.groups.groups[0].accuracy.outcome == "worse"
    assert not gate.passed
    text = " ".join(render_terminal(gate_page(gate, "brief"), 160).split())
    assert text.startswith("PASS new against old, test acc ")
    assert "FAIL The accuracy on each group may be 2% of its examples lower: " in text
    assert "The accuracy on each group may be 2% of its examples lower: " in text
    assert "The largest drop is in the accuracy of half=first: " in text
    assert "accuracy of half=first: worse" in text


def test_p_values_of_metrics_and_groups_are_one_family_of_holm():
    gate = checked(WORSE, drop=0.02)
    plain = [metric.p_worse for metric in gate.judged]
    assert len(plain) == 3
    assert [metric.p_worse_adjusted for metric in gate.judged] == pytest.approx(multipletests(plain, method="holm")[1])
    assert "Holm-adjusted over 1 metric and 2 groups" in " ".join(gate_methods(gate))


def test_a_group_on_which_no_runs_could_pass_is_named():
    """Where 0.4 % of the answers may be wrong, 8 runs at the limit are often right on all of 60 examples."""
    labels = np.tile(SAME.targets, (8, 1))
    flawed = labels.copy()
    flawed[0, 0] = (labels[0, 0] + 1) % 3
    right, flawed = (made.predictions(8, examples=120, labels=each, seed=2) for each in (labels, flawed))
    gate = checked(right, drop=0.004, base=flawed)
    small = gate.groups.groups[0].accuracy
    assert small.outcome == "inconclusive"
    assert small.limit == pytest.approx(1 - 1 / 480 - 0.004)
    assert small.limit**480 > 0.05
    sentence = "Too few examples and runs for the limit, so that not even runs without an error would pass: half=first"
    assert sentence in " ".join(json.loads(gate_json(gate))["groups"]["why"])
    assert "Too few examples" not in " ".join(json.loads(gate_json(checked(SAME)))["groups"]["why"])


def test_without_a_drop_only_a_shown_one_fails():
    gate = checked(SAME, drop=None)
    assert {group.accuracy.outcome for group in gate.groups.groups} == {"no drop shown"}
    assert "may not fall" in " ".join(json.loads(gate_json(gate))["groups"]["why"])
    assert not checked(WORSE, drop=None).passed


def test_groups_stand_in_every_format():
    gate = checked(WORSE, drop=0.02)
    found = json.loads(gate_json(gate))
    assert list(found)[-1] == "groups"
    assert (found["groups"]["passed"], found["groups"]["allowed"]) == (False, 0.02)
    first = found["groups"]["groups"][0]
    assert (first["column"], first["name"], first["examples"]) == ("half", "first", 60)
    assert first["accuracy"]["outcome"] == "worse"
    names = [case.get("name") for case in ElementTree.fromstring(gate_junit(gate)).iter("testcase")]
    assert names == ["test acc", "accuracy of half=first", "accuracy of half=second"]
    for reader in ("full", "paper"):
        assert "half=second" in render_terminal(gate_page(gate, reader), 160)
    none = checked(SAME, drop=None, groups=())
    assert json.loads(gate_json(none))["groups"] is None


def test_groups_that_cannot_be_compared_do_not_pass():
    apart = made.predictions(8, examples=120, keys=np.arange(1000, 1120))
    gate = checked(SAME, base=apart)
    assert not gate.passed
    assert "FAIL  The groups do not pass: " in render_terminal(gate_page(gate, "brief"), 160)
    why = "The groups do not pass: the sides evaluated other examples"
    assert why in json.loads(gate_json(gate))["groups"]["why"][0]
    assert 'name="groups"' in gate_junit(gate)


def test_sides_with_other_groups_for_the_same_examples_do_not_pass():
    other = Groups("groups.csv", "index", (Grouping("half", ("first", "second"), np.arange(120) // 61),))
    options = GateOptions(drops={"test acc": Drop(0.5)}, groups=("half",))
    gate = check_side(side("new", SAME), side("old", BASE, groups=(other,)), options)
    assert gate.groups.withheld == "the sides have other groups for the same examples"
    assert not gate.passed


def test_a_run_without_predictions_counts_as_lost():
    seven = made.predictions(7, examples=120, labels=SAME.labels[:7])
    a = structs.replace(side("new", seven), samples=side("new", SAME).samples, ended=8, completed=8)
    options = GateOptions(drops={"test acc": Drop(0.5)}, groups=("groups.csv",), max_group_drop=0.3)
    gate = check_side(a, side("old", BASE), options)
    assert {group.accuracy.outcome for group in gate.groups.groups} == {"runs lost"}


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(BadOption, match="max_group_drop is for groups"):
        checked_options(max_group_drop=0.1)
    with pytest.raises(BadOption, match="--set max_group_drop must lie between 0 and 1"):
        checked_options(groups=("groups.csv",), max_group_drop=2.0)
    options = GateOptions(drops={"test acc": Drop()}, groups=("groups.csv",))
    with pytest.raises(BadOption, match="groups: no predictions of old to group"):
        check_side(side("new", SAME), side("old", BASE, groups=()), options)


def checked_options(**changes):
    check_gate_options(GateOptions(drops={"test acc": Drop()}, **changes))
