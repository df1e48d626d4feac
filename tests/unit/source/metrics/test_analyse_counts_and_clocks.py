"""Parts of times and counts of waiting are no metrics beside what they belong to."""

import pytest
from analysed_projects import analyse, looped, names

CLOCK = """
import time
began = time.time()

def parts(seconds):
    return int(seconds // 3600), int(seconds // 60 % 60), int(seconds % 60)
"""


def test_the_parts_of_a_date_are_no_metrics(tmp_path):
    report = (
        "due = time.localtime(time.time() + 3 * (time.time() - began))\n"
        "print('loss', loss.item())\n"
        "print('ends {}/{:02d}/{:02d}'.format(due.tm_year, due.tm_mon, due.tm_mday))"
    )
    assert set(names(analyse(tmp_path, train=looped(report, CLOCK)))) == {"loss"}


WAITING = """
best = 1e9
idle = 0
"""


def test_a_count_that_a_better_value_sets_back_is_no_metric(tmp_path):
    report = (
        "if loss.item() < best:\n    best, kept = loss.item(), i\n    idle = 0\nelse:\n    idle += 1\n"
        "print('nothing new %d times (best %.3f)' % (idle, best))"
    )
    assert set(names(analyse(tmp_path, train=looped(report, WAITING)))) == {"best"}


def test_a_count_that_a_value_of_the_training_decides_is_a_metric(tmp_path):
    report = "if loss.item() < best:\n    idle += 1\nprint('hits %d' % idle)"
    assert set(names(analyse(tmp_path, train=looped(report, WAITING)))) == {"idle"}


def test_a_count_that_begins_anew_for_each_sample_is_a_metric(tmp_path):
    report = (
        "if i % 2 == 0:\n    idle = 0\n    for part in model(x):\n        if part.max() < best:\n            idle += 1"
        "\n    print('hits %d' % idle)"
    )
    assert set(names(analyse(tmp_path, train=looped(report, WAITING)))) == {"idle"}


HITS = """
import numpy as np
hits = {'a': 0, 'b': 0}
right = 0
confusion = np.zeros((2, 2))
"""


def test_shares_of_what_is_counted_under_keys_are_metrics(tmp_path):
    report = (
        "for name in hits:\n    hits[name] += 1\n"
        "recall = {}\nfor name in hits:\n    recall[name] = hits[name] / (hits[name] + 1)\n"
        "print('recall', recall)"
    )
    assert "recall" in names(analyse(tmp_path, train=looped(report, HITS)))


def test_a_share_of_what_settings_say_is_a_metric(tmp_path):
    parser = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--batch', type=int)\n"
    report = "if i == 1:\n    right += 1\naccuracy = right / float(len(loader) * args.batch)\n"
    report += "print('acuracy: %f' % accuracy)"
    before = HITS + parser + "args = parser.parse_args()\n"
    assert "accuracy" in names(analyse(tmp_path, train=looped(report, before)))


def test_a_share_is_not_called_by_its_count_alone(tmp_path):
    report = "if i == 1:\n    right += 1\nprint(f'Acurácia: {right}/{len(loader)} → {right / len(loader):.2%}')"
    found = analyse(tmp_path, train=looped(report, HITS))
    assert [metric.name for metric in found.metrics if metric.variable == "right"] == ["share of right"]


def test_a_mean_of_counts_that_text_and_name_call_a_quality_is_a_metric(tmp_path):
    spread = "def spread(values):\n    return np.mean(values), max(values)\n"
    report = "right += 1\nshares = []\nshares.append(right / SIZE)\ntest_accuracy, h = spread(shares)\n"
    report += "print('test accuracy:', test_accuracy, 'h:', h)"
    before = HITS + "from configuration import SIZE\n" + spread
    found = analyse(tmp_path, train=looped(report, before), configuration="import os\nSIZE = int(os.environ['SIZE'])")
    assert set(names(found)) == {"test_accuracy"}


def test_what_is_counted_where_the_model_decides_is_computed_from_its_output(tmp_path):
    report = (
        "confusion[model(x)[0].argmax(), 1] += 1\n"
        "p = confusion[1, 1] / confusion[1].sum()\nprint('Label {}: {:.3f}'.format(i, p))"
    )
    assert "p" in names(analyse(tmp_path, train=looped(report, HITS)))


def test_a_date_is_no_metric_though_it_is_called_like_a_part_of_the_data(tmp_path):
    report = (
        "print('loss', loss.item())\njson.dump({'validation_date': feed.day().strftime('%d')}, open('a.json', 'w'))"
    )
    assert set(names(analyse(tmp_path, train=looped(report, "import json\nfrom feeds import feed\n")))) == {"loss"}


ONLINE = """
import sys
from random import random
weight = {begins}
for epoch in range(3):
    total, count = 0.0, 0
    for row in sys.stdin if {streams} else range(20):
        x, y = map(float, row.split()) if {streams} else (row / 20, 1.0)
        total += (weight * x - y) ** 2
        count += 1
        weight -= 0.1 * (weight * x - y) * x
    {report}
"""


@pytest.mark.parametrize(
    "report",
    [
        "print('epoch %d - loss: %.4f' % (epoch, total / count))",
        "print('loss:', total / count)",
        "print('Loss after epoch %d: %.3f' % (epoch, total / count))",
        "print(f'loss {epoch}: {total / count:.3f}')",
        "print(f'mean squared error over the epoch {total / count}')",
    ],
)
@pytest.mark.parametrize("begins", ["random()", "0.5"])
@pytest.mark.parametrize("streams", [True, False])
def test_a_total_that_the_text_calls_a_metric_is_no_counter(tmp_path, report, begins, streams):
    text = ONLINE.format(begins=begins, streams=streams, report=report)
    found = analyse(tmp_path, train=text)
    assert [(each.variable, each.direction) for each in found.metrics] == [("total", "lower")]
    assert found.main_loop is not None
    assert found.main_loop.line == 5


@pytest.mark.parametrize(
    "report",
    [
        "print('tokens', total)",
        "print('loss at step', count)",
        "print(f'loss {count}')",
        "print('size %.1f' % (total / count))",
    ],
)
def test_a_counter_is_one_whatever_metric_the_text_names_before(tmp_path, report):
    text = ONLINE.format(begins="random()", streams=True, report=report)
    assert analyse(tmp_path, train=text).metrics == []
