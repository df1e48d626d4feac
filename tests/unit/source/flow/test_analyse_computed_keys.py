"""Mappings that are filled under computed keys, values that are kept beside parameters, tables of functions."""

from __future__ import annotations

from analysed_projects import analyse, looped, names


def test_items_that_start_from_zero_are_what_a_loop_adds_under_computed_keys(tmp_path):
    sums = """
def losses_of(x, y):
    results = {}
    results['cost'] = ((model(x) - y) ** 2).mean()
    results['part'] = model(x).mean()
    return results
def evaluate():
    total = {}
    total['cost'] = 0
    total['part'] = 0
    n_batches = 0
    for x, y in loader:
        results = losses_of(x, y)
        for key in total.keys():
            if key in results:
                value = results[key]
                total[key] += value
        n_batches += 1
    for key, value in total.items():
        total[key] = total[key] / n_batches
    return total
"""
    report = "result = evaluate()\nprint('all {:.3f} of it {:.3f}'.format(result['cost'], result['part']))"
    assert names(analyse(tmp_path, train=looped(report, sums))) == {
        "result['cost']": "value",
        "result['part']": "value",
    }


def test_items_that_start_from_zeros_of_a_chosen_length_are_what_is_stored_in_them(tmp_path):
    before = """
    import argparse
    args = argparse.ArgumentParser().parse_args()
    kept = {'left': torch.zeros(args.turns), 'right': torch.zeros(args.turns)}
    """
    report = """
    for side in ['left', 'right']:
        kept[side][epoch] = ((model(x) - y) ** 2).mean()
    print('left: {:.3f}'.format(kept['left'].max()))
    """
    assert names(analyse(tmp_path, train=looped(report, before))) == {"kept['left']": "value"}


def test_loss_that_a_parameter_weighs_is_not_that_parameter(tmp_path):
    trainer = """
class Trainer:
    def __init__(self):
        self.stats = {'n': 0, 'seconds': []}
    def step(self, x, y, lang, weight):
        loss = weight * ((model(x) - y) ** 2).mean()
        self.stats['CLM-%s' % lang].append(loss.item())
    def show(self):
        text = ' || '.join(['{}: {:7.4f}'.format(k, sum(v) / len(v)) for k, v in self.stats.items()])
        print(text)
trainer = Trainer()
import argparse
args = argparse.ArgumentParser().parse_args()
"""
    report = "trainer.step(x, y, 'en', args.weight)\ntrainer.show()"
    assert names(analyse(tmp_path, train=looped(report, trainer))) == {"self.stats": "value"}


def test_smallest_of_what_starts_from_infinity_is_a_value(tmp_path):
    before = """
import numpy as np
def distance(x, y):
    try:
        found = far(model(x).numpy(), y)
    except ValueError:
        found = np.inf
    return found
from away import far
"""
    report = "d = distance(x, y)\nprint('d', d.min(axis=0).item())"
    assert list(names(analyse(tmp_path, train=looped(report, before)))) == ["d"]


def test_values_of_a_format_that_is_given_to_a_class_are_seen(tmp_path):
    timer = """
class Timer:
    def __init__(self, text):
        self.text = text
    def __enter__(self):
        self.start_time = time.time()
    def __exit__(self, *problem):
        print(self.text % (time.time() - self.start_time))
"""
    report = "with Timer('Elapsed time in update: %f'):\n    model(x)"
    assert list(names(analyse(tmp_path, train=looped(report, timer)))) == ["self.start_time"]


def test_item_of_a_result_that_is_computed_anew_is_another_value(tmp_path):
    before = """
def infer(loader):
    return {'rmsd': ((model(loader[0][0]) - loader[0][1]) ** 2).mean().item()}
"""
    report = """
    metrics = infer(loader)
    print('Val rmsd {:.3f}'.format(metrics['rmsd']))
    metrics = infer(loader[:2])
    print('second rmsd {:.3f}'.format(metrics['rmsd']))
    """
    found = [metric.name for metric in analyse(tmp_path, train=looped(report, before)).metrics if metric.selected]
    assert sorted(found) == ["Val rmsd", "second rmsd"]


def test_key_of_a_mapping_that_callers_fill_is_no_value(tmp_path):
    tracker = """
class Tracker:
    def __init__(self):
        self.kept = {}
    def track(self, name, loss):
        self.kept[name] = loss
    def results(self):
        return {'metrics': {key: value for key, value in self.kept.items()}}
tracker = Tracker()
"""
    report = """
    tracker.track('loss', loss.item())
    text = ''
    for metric, value in tracker.results()['metrics'].items():
        text += f'| {metric}: {value:.4f} '
    print(text)
    """
    assert "metric" not in names(analyse(tmp_path, train=looped(report, tracker)))


def test_an_item_that_is_given_a_form_of_itself_is_what_it_was(tmp_path):
    before = "from outside import step\nclass Mean:\n    def __init__(self):\n        self.values = []\n"
    before += "    def __call__(self, value):\n        self.values.append(value)\n"
    before += "        return sum(self.values) / len(self.values)\n"
    before += "kept = Mean()\ndef stepped(x):\n    return {'a': step(model(x))}"
    report = "out = stepped(x)\nout['a'] = out['a'].detach()\nprint('at %d: %.4f' % (i, kept(out['a'].item())))"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"kept()"}
