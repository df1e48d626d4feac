"""Values that a project's own logger keeps under a key until it shows them."""

from __future__ import annotations

import textwrap

import pytest
from analysed_projects import analyse, looped, names

KEEPERS = {
    "lists under keys": (
        "log.add('loss', loss.item())\nlog.add('epoch', epoch)\nlog.show()",
        """
        class Recorder:
            def __init__(self):
                self.data = {}
            def add(self, what, number):
                self.data.setdefault(what, []).append(number)
            def show(self):
                for what, numbers in self.data.items():
                    print(what, sum(numbers) / len(numbers))
        log = Recorder()
        """,
    ),
    "pairs of step and value": (
        "log.put(i, 'loss', loss.item())\nlog.show()",
        """
        class Table:
            def __init__(self):
                self.columns = {}
            def put(self, t, key, value):
                if key not in self.columns:
                    self.columns[key] = []
                self.columns[key] += [(t, value)]
            def show(self):
                print(' '.join(str(column[-1][1]) for column in self.columns.values()))
        log = Table()
        """,
    ),
    "pairs of a time and a value under keys": (
        "board.stat('loss', loss.item(), seen())\nboard.show()",
        """
        from collections import defaultdict
        class Board:
            def __init__(self):
                self.stats = defaultdict(list)
                self.info = {}
            def stat(self, key, value, t):
                self.stats[key].append((t, value))
                self.info[f'{key}_at'] = t
            def show(self):
                print(self.info)
                print('at {} {}'.format(*self.stats['loss'][-1]))
        board = Board()
        """,
    ),
    "pairs of key and value": (
        "log.tabular({'loss': loss.item(), 'epoch': epoch}, 'train/')\nlog.dump()",
        """
        class Tabular:
            def __init__(self):
                self.rows, self.prefix = [], ''
            def one(self, key, val):
                self.rows.append((self.prefix + str(key), str(val)))
            def tabular(self, d, prefix):
                self.prefix = prefix
                for k, v in d.items():
                    self.one(k, v)
            def dump(self):
                for line in tabulate(self.rows).split('\\n'):
                    print(line)
                self.rows.clear()
        log = Tabular()
        """,
    ),
    "rows under name and step": (
        "log.write('loss', loss.item(), epoch)\nlog.save()",
        """
        import json
        class History:
            def __init__(self):
                self.rows = {'loss': {}}
            def write(self, name, value, step):
                self.rows[name][step] = value
            def save(self):
                with open('h.json', 'w') as f:
                    json.dump(self.rows, f)
        log = History()
        """,
    ),
    "meters by keyword": (
        "log.put(loss=loss.item(), epoch=epoch)\nprint(log)",
        """
        from collections import defaultdict
        class Meter:
            def __init__(self):
                self.values = []
            def add(self, value):
                self.values.append(value)
        class Log:
            def __init__(self):
                self.meters = defaultdict(Meter)
            def put(self, **values):
                for k, v in values.items():
                    self.meters[k].add(v)
            def __str__(self):
                return ' '.join('%s %.3f' % (k, m.values[-1]) for k, m in self.meters.items())
        log = Log()
        """,
    ),
    "entries of a class": (
        "log.scalar('loss', loss.item())\nlog.flush()",
        """
        from collections import namedtuple
        Entry = namedtuple('Entry', 'name value')
        class Summaries:
            def __init__(self):
                self.entries = []
            def scalar(self, name, tensor):
                self.entries.append(Entry(name, tensor))
            def flush(self):
                for entry in self.entries:
                    print(entry.name, entry.value)
        log = Summaries()
        """,
    ),
    "a global": (
        "keep('loss', loss.item())\nshow()",
        """
        kept = {}
        def keep(name, value):
            kept[name] = value
        def show():
            print(', '.join('%s=%s' % pair for pair in kept.items()))
        """,
    ),
}


@pytest.mark.parametrize(("report", "before"), KEEPERS.values(), ids=KEEPERS.keys())
def test_what_is_kept_under_a_key_is_recorded_where_it_is_given(tmp_path, report, before):
    findings = analyse(tmp_path, train=looped(report, textwrap.dedent(before)))
    assert [metric.variable for metric in findings.metrics if metric.selected] == ["loss"]


def test_what_no_report_shows_is_not_recorded(tmp_path):
    before = """
class Cache:
    def __init__(self):
        self.data = {}
    def keep(self, where, what):
        self.data[where] = what
cache = Cache()
"""
    assert names(analyse(tmp_path, train=looped("cache.keep('loss', loss.item())", before))) == {}


OPTIMISER = """
import jax
import optax

tx = optax.adam(0.1)

def error(params, batch):
    return jax.numpy.mean(params['w'] * batch)

def fit(params, state, batch):
    gap, grads = jax.value_and_grad(error)(params, batch)
    change, state = tx.update(grads, state)
    params = optax.apply_updates(params, change)
    return params, state, {'gap': gap}

def main():
    params = {'w': jax.numpy.zeros(2)}
    state = tx.init(params)
    for step in range(10):
        params, state, found = fit(params, state, batches[step])
        print('gap %.3f' % found['gap'])

main()
"""


def test_an_optimiser_that_is_given_gradients_and_its_state_keeps_nothing(tmp_path):
    assert set(names(analyse(tmp_path, train=OPTIMISER))) == {"found['gap']"}


def test_what_a_function_makes_of_a_mapping_is_not_kept(tmp_path):
    before = """
    def changed(values, change):
        made = {}
        for key, value in values.items():
            made[key] = change(value)
        return made

    def gap(batch):
        states = outside.encoded(model(batch))
        states["left"] = states["left"][:2]
        moved = changed(states, lambda state: state * 1.0)
        return (moved["left"].mean() - moved["right"].mean()) ** 2
    """
    report = "made = gap(x)\nprint('penalty', made.item())"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"made"}


@pytest.mark.parametrize("agreement", ["(guess == int(truth))", "agree.sum()", "int(guess == truth)"])
def test_what_is_counted_as_right_is_no_metric_of_the_caller(tmp_path, agreement):
    before = f"""
class Tally:
    def __init__(self):
        self.rows = [dict(right=0, seen=0) for _ in range(3)]
    def log(self, guess, truth):
        agree = guess == truth
        self.rows[truth]['right'] += {agreement}
        self.rows[truth]['seen'] += 1
    def rate(self, row):
        return self.rows[row]['right'] / self.rows[row]['seen']
tally = Tally()
"""
    report = "guess = model(x)\ntally.log(guess, y)\nprint('accuracy %.3f' % tally.rate(1), loss.item())"
    assert "guess" not in names(analyse(tmp_path, train=looped(report, before)))


def test_what_is_kept_is_the_value_and_not_what_it_is_weighed_by(tmp_path):
    before = """
    import wandb
    class Kept:
        def __init__(self):
            self.kept = {}
        def add(self, part, length, values):
            for key, value in values.items():
                name = f'{part}/{key}'
                seen, total = self.kept.get(name, (0, 0.0))
                self.kept[name] = (seen + length, total + length * value.item())
        def show(self):
            means = {}
            for name, kept in self.kept.items():
                seen, total = kept
                means[name] = total / seen
            wandb.log(means)
    kept = Kept()
    """
    report = "kept.add('train', len(x), {'loss': loss, 'gap': (model(x) - y).mean()})\nkept.show()"
    assert {"loss"} <= set(names(analyse(tmp_path, train=looped(report, before))))


def test_what_is_computed_of_all_that_a_loop_takes_is_reported_where_it_is_shown(tmp_path):
    before = """
    class Tasks:
        def __init__(self, tasks):
            self.epoch = 0
            self.kept = {task: torch.zeros(10, 2) for task in tasks}
        def update(self, given, wanted, losses):
            for loss, pred, (task, truth) in zip(losses, given, wanted.items()):
                self.kept[task][self.epoch, 0] = 0.9 * self.kept[task][self.epoch, 0] + 0.1 * loss.item()
                self.kept[task][self.epoch, 1] = (pred - truth).abs().mean().item()
        def text(self, tasks):
            out = ''
            for task in tasks:
                out += ' {} {:.4f} {:.4f}'.format(task, self.kept[task][self.epoch, 0], self.kept[task][self.epoch, 1])
            return out
        def best(self, task):
            return min(self.kept[task][:self.epoch, 1])
    tasks = Tasks(['depth'])
    """
    report = """
    out = [model(x)]
    tasks.update(out, {'depth': y}, [loss])
    shown = tasks.text(['depth'])
    print('Epoch {} | Train:{} | Best: {:.4f}'.format(epoch, shown, tasks.best('depth')))
    """
    found = names(analyse(tmp_path, train=looped(report, before)))
    assert {"self.kept[task][self.epoch, 0]", "self.kept[task][self.epoch, 1]"} <= found.keys()
    assert "out" not in found
    assert "tasks.best()" in found


@pytest.mark.parametrize("entry", ["Entry(val, quiet)", "Entry(key, val)", "Entry(quiet, val=val)"])
def test_values_kept_within_entries_are_reported_by_those_who_give_them(tmp_path, entry):
    before = f"""
    class Entry:
        def __init__(self, *parts, val=None):
            self.parts = parts
            self.val = val
    class Table:
        def __init__(self):
            self.row = {{}}
        def put(self, key, val, quiet=False):
            self.row[key] = {entry}
        def show(self):
            for key in self.row:
                entry = self.row.get(key, '')
                print('| %s | %s |' % (key, entry.val))
    table = Table()
    """
    report = "table.put('Critic_Loss', loss.item())\ntable.put('Iteration', i)\ntable.show()"
    metrics = analyse(tmp_path, train=looped(report, before)).metrics
    assert [(metric.variable, metric.name) for metric in metrics if metric.selected] == [("loss", "Critic_Loss")]


_SET_OF_METERS = """
class Meter:
    def __init__(self):
        self.val = self.total = 0
    def update(self, value):
        self.val = value
        self.total += value
    def __format__(self, spec):
        return format(self.val, spec)
class Meters:
    def __init__(self):
        self.held = {}
    def __getitem__(self, key):
        return self.held[key]
    def update(self, name, value):
        self.held.setdefault(name, Meter())
        self.held[name].update(value)
        print('kept', name)
"""


def test_values_that_a_text_reads_out_by_their_keys_are_reported_there(tmp_path):
    before = "from meters import Meters\nmeters = Meters()"
    report = """
    meters.update('loss', loss.item())
    meters.update('size', y.abs().mean().item())
    print('Epoch {0} loss {meters[loss]:.3f} size {meters[size]:.3f}'.format(epoch, meters=meters))
    """
    findings = analyse(tmp_path, meters=_SET_OF_METERS, train=looped(report, before))
    recorded = {metric.variable: (metric.line, metric.capture.beside) for metric in findings.metrics}
    assert {"meters['loss']", "meters['size']"} == set(recorded)
    assert {beside for _, beside in recorded.values()} == {"meters['loss']", "meters['size']"}


def test_meters_that_are_made_for_each_name_are_reported_where_they_are_shown(tmp_path):
    before = """
    import keras
    class Meters:
        def __init__(self, wanted):
            self.wanted = wanted
            self.prepare(wanted)
        def prepare(self, wanted):
            self.held = {}
            for name in wanted:
                self.held.update({name: keras.metrics.Mean(name='train_' + name, dtype='float32')})
        def show(self):
            for name in self.wanted:
                print(f'{name} = {self.held[name].result():.4f}')
    meters = Meters(['loss'])
    """
    report = "meters.held['loss'].update_state(loss)\nmeters.show()"
    found = [each.variable for each in analyse(tmp_path, train=looped(report, before)).metrics if each.selected]
    assert found == ["self.held[name]"]
