"""Mappings reported whole: filled in the loop, by a function, returned by one; and what only looks like one."""

from __future__ import annotations

from textwrap import dedent

import pytest
from analysed_projects import analyse, looped, names

FILLED = {
    "by items": "stats = {}\nstats['epoch'] = epoch\nstats['loss'] = loss.item()",
    "by keywords": "stats = {}\nstats.update(epoch=epoch, loss=loss.item())",
    "by a mapping": "stats = dict(epoch=epoch)\nstats.update({'loss': loss.item()})",
    "by addition": "stats = collections.defaultdict(float)\nstats['loss'] += loss.item()",
}
REPORTS = [
    "print(stats)",
    "out.write(json.dumps(stats) + '\\n')",
    "print(f'{stats}')",
    "logging.info('stats %s', stats)",
]
BEFORE = "import collections, json, logging\nout = open('log.txt', 'a')\n"


@pytest.mark.parametrize("filled", FILLED.values(), ids=FILLED)
@pytest.mark.parametrize("report", REPORTS)
def test_a_mapping_filled_in_the_loop_and_reported_whole_is_found(tmp_path, filled, report):
    findings = analyse(tmp_path, train=looped(f"{filled}\n{report}", BEFORE))
    assert "loss" in {metric.name for metric in findings.metrics if metric.selected}
    assert "counter" in {rejection.reason for rejection in findings.rejected} or "epoch" not in filled


def test_a_mapping_under_keys_that_vary_is_recorded_by_name(tmp_path):
    report = "stats = {}\nfor split in ('a', 'b'):\n    stats[f'{split}_loss'] = loss.item()\nprint(stats)"
    (metric,) = analyse(tmp_path, train=looped(report)).metrics
    assert (metric.name, metric.variable, metric.capture.label) == ("{split}_loss", "loss", "split")


def test_a_mapping_filled_by_a_function_is_recorded_by_name(tmp_path):
    helper = "def fill(stats):\n    stats['loss'] = loss.item()\n"
    report = "stats = {}\nfill(stats)\nprint('stats', stats)"
    assert names(analyse(tmp_path, train=looped(report, helper))) == {"stats": "mapping"}


def test_a_mapping_returned_by_a_function_is_recorded_by_name(tmp_path):
    helper = """
    def evaluate():
        return {'loss': model(loader[0][0]).mean().item(), 'score': 1.0}
    """
    report = "train_stats = evaluate()\nprint('train', train_stats)"
    assert names(analyse(tmp_path, train=looped(report, dedent(helper)))) == {"train_stats": "mapping"}


def test_keywords_given_to_a_meter_do_not_make_it_a_mapping(tmp_path):
    meter = """
    class Meters:
        def __init__(self):
            self.total = 0
        def update(self, loss):
            self.total += loss
        def __str__(self):
            return 'loss %.3f' % self.total

    meters = Meters()
    """
    findings = analyse(tmp_path, train=looped("meters.update(loss=loss.item())\nprint(meters)", dedent(meter)))
    assert "mapping" not in names(findings).values()


def test_lists_written_whole_are_no_metrics(tmp_path):
    helper = "def add(rows, value):\n    rows.append({'id': 1, 'score': value})\n"
    report = "rows, other = [], []\nadd(rows, loss.item())\njson.dump(rows, out)\nprint(json.dumps(rows[-10:]))"
    assert names(analyse(tmp_path, train=looped(report, BEFORE + helper))) == {}


def test_settings_written_whole_are_no_metrics(tmp_path):
    before = BEFORE + "import library\nargs = library.Settings()\n"
    findings = analyse(tmp_path, train=looped("print('loss', loss.item())", before + "json.dump(args, out)\n"))
    assert list(names(findings)) == ["loss"]


def test_what_keras_recorded_of_a_fit_is_not_listed_again(tmp_path):
    train = """
    import json, keras
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer='sgd', loss='mse', metrics=['mae'])
    history = model.fit(x, y, epochs=3)
    with open('history.json', 'w') as file:
        json.dump(history.history, file)
    print('best', max(history.history['mae']))
    """
    assert set(names(analyse(tmp_path, train=train))) == {"fit:loss", "fit:mae"}


def test_an_item_that_no_written_key_gives_is_no_constant(tmp_path):
    before = """
    from copy import deepcopy
    from elsewhere import recall
    def rate(model, rows):
        rows = deepcopy(rows)
        for row in rows:
            row['value'] = []
        for row in rows:
            row['value'].append(row['by'](model, at=row['at']))
        for row in rows:
            row['value'] = np.concatenate(row['value']).mean()
        return [row['value'] for row in rows]
    rows = [{'by': recall, 'at': 5}]
    values = []
    """
    report = "values.append(rate(model, rows)[0])\nprint(f'recall@5: {values[-1]:.4f}')"
    assert list(names(analyse(tmp_path, train=looped(report, before)))) == ["values[-1]"]
