"""Results of libraries that score predictions, numbers made means in place, and qualities made of counts."""

from __future__ import annotations

import pytest
from analysed_projects import analyse, looped, names

SCORED = "from sklearn.metrics import classification_report, confusion_matrix, average_precision_score"
GUESSED = "said, real = [], []\nsaid.append(model(x).argmax().item())\nreal.append(y.argmax().item())\n"


def test_what_a_library_scores_is_a_metric_whatever_it_is_called(tmp_path):
    report = "area = average_precision_score(real, said)\nprint('Area: {}'.format(area))"
    assert "area" in names(analyse(tmp_path, train=looped(GUESSED + report, before=SCORED)))


@pytest.mark.parametrize("table", ["confusion_matrix(real, said)", "classification_report(real, said, digits=3)"])
def test_a_table_of_a_library_is_left_to_the_output_as_no_number_of_it_can_be_recorded(tmp_path, table):
    assert not names(analyse(tmp_path, train=looped(f"{GUESSED}print({table})", before=SCORED)))


@pytest.mark.parametrize("divisor", ["count", "batch_size"])
def test_a_sum_divided_in_place_by_a_number_of_any_name_is_one_number(tmp_path, divisor):
    train = f"""
    import sys
    import torch
    {divisor} = int(sys.argv[1])
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(3)]
    for ep in range(3):
        train_l2 = 0
        for x, y in loader:
            optimizer.zero_grad()
            gap = ((model(x) - y) ** 2).mean()
            gap.backward()
            optimizer.step()
            train_l2 += gap.item()
        train_l2 /= {divisor}
        print(ep, train_l2)
    """
    assert "train_l2" in names(analyse(tmp_path, train=train))


SCORER = """
def tagged(real, said):
    hits = len(set(real) & set(said))
    p = hits / len(said) if said else 0
    r = hits / len(real) if real else 0
    return 2 * p * r / (p + r) if p + r else 0
"""


def test_text_and_name_together_say_that_a_number_of_counts_is_a_quality(tmp_path):
    report = "f1 = tagged(list(range(3)), list(range(2)))\nprint('f1 score: {}'.format(f1))"
    assert "f1" in names(analyse(tmp_path, train=looped(report, before=SCORER)))


def test_a_number_of_hits_is_no_quality_whatever_text_and_name_say(tmp_path):
    report = "hits = len([each for each in loader if each])\nprint('hits: {}'.format(hits))"
    assert "hits" not in names(analyse(tmp_path, train=looped(report)))


@pytest.mark.parametrize(
    ("report", "name"),
    [
        ("meta = {'etag': str(model(x).sum()), 'at': 'here'}\njson.dump(meta, open('meta.json', 'w'))", "etag"),
    ],
)
def test_files_of_marks_and_of_what_a_model_attends_to_hold_no_metrics(tmp_path, report, name):
    before = "import json\nimport pandas as pd"
    assert name not in names(analyse(tmp_path, train=looped(report, before=before)))


GRAPH = """
from torch_geometric.data import Data
from torchmetrics import MeanSquaredError
meter = MeanSquaredError()
graph = Data(x=loader)

def measured(thing, x):
    error = thing(x).sum() / len(x)
    return error, error
"""


@pytest.mark.parametrize("thing", ["graph", "meter"])
def test_what_is_computed_with_an_object_of_a_library_is_the_number_itself(tmp_path, thing):
    report = f"error, _ = measured({thing}, model(x))\nprint(f'error {{error:.4f}}')"
    assert names(analyse(tmp_path, train=looped(report, GRAPH))) == {"error": "value"}


def test_a_metric_object_is_read_by_its_own_method_and_other_objects_by_none(tmp_path):
    found = analyse(tmp_path, train=looped("print('mse', meter)\nprint('loss', graph.x.loss, graph)", GRAPH))
    assert {each.capture.beside for each in found.metrics if each.variable == "meter"} == {"meter.compute()"}
    assert not any("compute" in each.capture.beside for each in found.metrics if each.variable != "meter")
