"""Parts of times and counts of waiting are no metrics beside what they belong to."""

from analysed_projects import analyse, looped, names

CLOCK = """
import time
began = time.time()

def parts(seconds):
    return int(seconds // 3600), int(seconds // 60 % 60), int(seconds % 60)
"""


def test_of_a_time_in_parts_the_first_counts(tmp_path):
    report = "ph, pm, ps = parts(time.time() - began)\nprint('took {:02d}h-{:02d}m-{:02d}s'.format(ph, pm, ps))"
    assert set(names(analyse(tmp_path, train=looped(report, CLOCK)))) == {"ph"}


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
