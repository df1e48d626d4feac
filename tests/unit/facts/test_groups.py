"""The facts about groups of examples, worked by hand."""

import json

import msgspec
import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from deviate.core.errors import BadGroups, BadOption
from deviate.facts.groups import GroupOptions, group_facts, read_group_options, with_groups
from deviate.facts.predictions import Evaluation
from deviate.facts.stability import stability
from deviate.observe.examples import Grouping, Groups
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame
from deviate.report.topics.stability import brief_stability
from deviate.stats.classes import group_rates

#: Of the group "a" the first four examples, of "b" the others; the targets are positive in two of each.
MEMBERS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
TARGETS = np.array([0, 0, 1, 1, 0, 0, 1, 1])
#: Run 0 is right everywhere; run 1 calls one negative of "a" positive; run 2 misses both positives of "b".
LABELS = np.array([[0, 0, 1, 1, 0, 0, 1, 1], [1, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0, 0, 0]])


def evaluation(labels=LABELS, targets=TARGETS, groupings=None, **changes):
    predicted = Predictions(
        runs=("r-0", "r-1", "r-2"), by="index", targets=targets, labels=labels, values=None, top=None, scores=None,
        keys=np.arange(8), classes=None,
    )  # fmt: skip
    groups = Groups("groups.csv", "index", groupings or (Grouping("sex", ("a", "b"), MEMBERS),))
    fields = {
        "variant": "r", "site": Frame("train.py", 9, "evaluate"), "kept": "last", "data": "", "metric": "acc",
        "iterations": [4] * 3, "goodness": [0.9] * 3, "predictions": predicted, "groups": [groups], "positive": 1,
        **changes,
    }  # fmt: skip
    return Evaluation(**fields)


def test_rates_of_groups_are_those_worked_by_hand():
    facts = group_facts(evaluation(), 0.95)
    a, b = facts.groups
    assert (a.label, a.examples, b.label, b.examples) == ("sex=a", 4, "sex=b", 4)
    # Accuracies of a: 1, 3/4, 1; of b: 1, 1, 1/2; of all: 1, 7/8, 3/4.
    assert a.rates["accuracy"].mean == pytest.approx(11 / 12)
    assert a.rates["accuracy"].sd == pytest.approx(0.25 / np.sqrt(3))
    assert b.rates["accuracy"].sd == pytest.approx(0.5 / np.sqrt(3))
    assert facts.overall.rates["accuracy"].sd == pytest.approx(0.125)
    assert b.rates["accuracy"].ratio == pytest.approx(4 / np.sqrt(3))
    assert b.rates["accuracy"].floor == pytest.approx(np.sqrt(5 / 6 * 1 / 6 / 4))
    assert b.rates["accuracy"].range == 0.5
    # Of a: one of two negatives is called positive in run 1. Of b: both positives are missed in run 2.
    assert a.rates["fpr"].mean == pytest.approx(1 / 6)
    assert a.rates["fnr"].sd == 0
    assert b.rates["fnr"].mean == pytest.approx(1 / 3)
    assert b.rates["recall"].sd == pytest.approx(1 / np.sqrt(3))
    assert a.rates["precision"].mean == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert b.rates["precision"].sd is None
    assert "undefined in 1 of 3 runs" in b.rates["precision"].reason
    # Two runs differ on a: 1/4, 0, 1/4; on b: 0, 1/2, 1/2.
    assert (a.churn.value, b.churn.value) == (pytest.approx(1 / 6), pytest.approx(1 / 3))


def test_p_values_are_by_holm_over_the_groups_of_all_columns():
    # Errors of run 1 fall on six examples, in groups of both columns.
    targets = np.zeros(60, int)
    labels = np.zeros((3, 60), int)
    labels[1, :6] = labels[0, 30] = labels[2, 45] = 1
    members = [np.arange(60) // 30, np.arange(60) % 2]
    predicted = Predictions(
        runs=("r-0", "r-1", "r-2"), by="index", targets=targets, labels=labels, values=None, top=None, scores=None,
        keys=np.arange(60), classes=None,
    )  # fmt: skip
    columns = tuple(Grouping(name, ("a", "b"), each) for name, each in zip("xy", members, strict=True))
    facts = group_facts(evaluation(predictions=predicted, groupings=columns, positive=None), 0.95)
    single = [group_rates(labels, targets, each).subsets for each in members]
    ps = [subset.rates["accuracy"].p for subsets in single for subset in subsets]
    assert [each.rates["accuracy"].p for each in facts.groups] == pytest.approx(multipletests(ps, method="holm")[1])
    assert [each.label for each in facts.groups] == ["x=a", "x=b", "y=a", "y=b"]


def test_without_a_positive_class_only_the_accuracy_is_known():
    facts = group_facts(evaluation(positive=None), 0.95)
    assert facts.positive is None
    assert facts.groups[0].rates.keys() == {"accuracy"}


def test_the_group_that_varies_most_is_named_with_its_errors():
    known = stability(evaluation(), seed=0, level=0.95)
    group, error = [text for text in brief_stability(known) if "sex=b" in text]
    assert group.startswith("Group sex=b varies most: the SD of its accuracy is 29 points, 2.3 times that of all")
    assert error == (
        "The false negative rate varies most in sex=b: its SD is 58 points, 2.0 times that of all examples."
    )
    assert json.loads(msgspec.json.encode(known.groups))["sources"] == {"groups.csv": "index"}


def test_groups_that_never_vary_are_not_named():
    known = stability(evaluation(labels=np.stack([TARGETS] * 3)), seed=0, level=0.95)
    assert not any("varies most" in sentence for sentence in brief_stability(known))


# What users give


def fitted(folder, content, positive="", **changes):
    path = folder / "groups.csv"
    path.write_text(content)
    given = evaluation(**{"groups": [], **changes})
    options = GroupOptions(sources=(str(path),), positive=positive)
    return with_groups({"r": [given]}, {}, [], options)["r"][0]


ROWS = "index,sex\n" + "".join(f"{index},{'ab'[member]}\n" for index, member in enumerate(MEMBERS))


def test_a_file_gives_groups_and_two_classes_a_positive_one(tmp_path):
    assert fitted(tmp_path, ROWS).positive == 1
    assert fitted(tmp_path, ROWS, positive="0").positive == 0
    assert fitted(tmp_path, ROWS, targets=TARGETS + np.eye(8, dtype=int)[7]).positive is None


def test_the_main_evaluation_gets_the_groups_where_several_fit(tmp_path):
    (tmp_path / "groups.csv").write_text(ROWS)
    first, second = (evaluation(groups=[], data=data) for data in ("test", "train"))
    options = GroupOptions(sources=(str(tmp_path / "groups.csv"),))
    grouped = with_groups({"r": [first, second]}, {}, [], options)["r"]
    assert [bool(each.groups) for each in grouped] == [True, False]


@pytest.mark.parametrize(
    ("content", "changes", "message", "hint"),
    [
        (ROWS, {"positive": "cat"}, "no class 'cat' to count as positive", "0, 1"),
        ("sex\na\nb\n", {}, "has 2 rows, but 8 examples", "column `index`"),
        ("", {}, "cannot be read", "a column of groups"),
        (ROWS, {"targets": None}, "groups are of predicted classes with targets", "index"),
        (
            ROWS,
            {"predictions": None, "withheld": "other examples"},
            "no predictions to group: other examples",
            "leave groups out",
        ),
    ],
)
def test_groups_that_do_not_fit_are_refused_with_a_hint(tmp_path, content, changes, message, hint):
    with pytest.raises(BadGroups) as refused:
        fitted(tmp_path, content, **changes)
    assert refused.value.exit_status == 2
    assert message in refused.value.message
    assert hint in refused.value.hint


def test_a_positive_class_without_groups_is_refused():
    with pytest.raises(BadOption, match="positive is for the rates of groups"):
        read_group_options((), "1")
