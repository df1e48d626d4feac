"""Values followed to where they are reported: through containers and through functions that fill or format."""

from __future__ import annotations

from textwrap import dedent

import pytest
from analysed_projects import HEAD, analyse, looped, names

OWN_BOARD = """
class Board:
    def __init__(self):
        self.rows = {}
    def put(self, group, key, value, at):
        self.rows.setdefault(group, {}).setdefault(key, []).append((at, value))
    def latest(self, group, key):
        return self.rows[group][key][-1][1]
board = Board()
"""
OWN_SCORES = """
import collections
class Scores:
    def __init__(self):
        self.kept = collections.defaultdict(list)
    def add(self, output, target):
        self.kept['hits'].append((output > 0).float().mean().item())
        self.kept['average'].append(sum(self.kept['hits']) / len(self.kept['hits']))
    @property
    def latest(self):
        return {'hits': self.kept['hits'][-1], 'average': self.kept['average'][-1]}
scores = Scores()
"""
FILLED = """
import collections, json
class Criterion:
    def __call__(self, output, target, store):
        loss = ((output - target) ** 2).mean()
        store['gap'].append(loss.item())
        self.extra(output, store)
        return loss
    def extra(self, output, store):
        store['spread'].append(output.std().item())
criterion = Criterion()
def measured():
    store = collections.defaultdict(list)
    for x, y in loader:
        criterion(model(x), y, store)
    return {key: sum(values) / len(values) for key, values in store.items()}
"""


def board(report):
    return looped(report, OWN_BOARD)


def test_a_value_read_back_from_a_board_of_keys_is_the_value_put_there(tmp_path):
    report = "board.put('losses', 'penalty', loss.item(), i)\npenalty = board.latest('losses', 'penalty')"
    assert "penalty" in names(analyse(tmp_path, train=board(report + "\nprint('pen = %.4f' % penalty)")))


def test_an_item_computed_from_another_item_of_the_container_is_followed(tmp_path):
    report = "scores.add(model(x), y)\nprint(f\"{scores.latest['hits']} mean {scores.latest['average']:.2f}\")"
    found = names(analyse(tmp_path, train=looped(report, OWN_SCORES)))
    assert {"scores.latest['hits']", "scores.latest['average']"} <= set(found)


def test_what_called_functions_put_into_a_container_is_in_it(tmp_path):
    report = "found = measured()\nprint('results: {}'.format(found))"
    findings = analyse(tmp_path, train=looped(report, FILLED))
    assert names(findings)["found"] == "mapping"
    assert "found" not in names(
        analyse(tmp_path / "other", train=looped(report, FILLED.replace(", y, store)", ", y)")))
    )


def test_a_text_that_a_function_makes_of_numbers_is_taken_apart_through_a_name(tmp_path):
    helper = """
    def line(epoch, value):
        text = ', '.join([f'epoch {epoch}', f'gap {value:.3f}'])
        text += ' done'
        return text
    """
    report = "message = line(epoch, loss.item())\nprint(message)"
    assert set(names(analyse(tmp_path, train=looped(report, dedent(helper))))) == {"loss"}


def test_the_time_that_a_function_writes_is_a_metric(tmp_path):
    helper = """
    def written(seconds):
        return '{:.1f}m'.format(seconds / 60) if seconds > 60 else '{:.1f}s'.format(seconds)
    start = time.time()
    """
    report = "spent = written(time.time() - start)\nprint('epoch', epoch, spent)"
    (metric,) = analyse(tmp_path, train=looped(report, dedent(helper))).metrics
    assert metric.kind == "speed"


def test_the_format_in_force_is_the_one_assigned_last(tmp_path):
    report = "text = '{:d} gap {:.2f}'\nprint(text.format(epoch, loss))\nif epoch:\n    text = '{:d} {:.3f}\\n'\n"
    report += "    out.write(text.format(epoch, model.gap))\n"
    found = names(analyse(tmp_path, train=looped(report, "out = open('log.txt', 'a')\nmodel.gap = 0.5")))
    assert set(found) == {"loss", "model.gap"}


def test_an_attribute_named_like_a_metric_is_reported_where_it_stands(tmp_path):
    train = HEAD + dedent("""
    def train(net, out):
        for epoch in range(3):
            for x, y in loader:
                net.fit_loss = ((net(x) - y) ** 2).mean()
                net.fit_loss.backward()
                optimizer.step()
                out.write('{} {:.3f}'.format(epoch, net.fit_loss))
    train(model, open('log.txt', 'a'))
    """)
    assert set(names(analyse(tmp_path, train=train))) == {"net.fit_loss"}


LOGGED = """
def log(writer, at, gap):
    writer.add_scalar('gap', gap, at)
writer = library.SummaryWriter()
"""


def test_a_function_that_reports_several_variables_reports_each_of_them(tmp_path):
    report = "log(writer, i, loss)\ntest_loss = (model(x) - y).abs().mean()\nlog(writer, i, test_loss)"
    assert set(names(analyse(tmp_path, train=looped(report, LOGGED)))) == {"loss", "test_loss"}
    named = LOGGED.replace("at, gap):", "at, gap, split):").replace("'gap', gap", "f'{split}/gap', gap")
    told = report.replace("loss)\n", "loss, 'train')\n").removesuffix(")") + ", 'test')"
    found = analyse(tmp_path / "told", train=looped(told, named)).metrics
    assert len({metric.name for metric in found}) == len(found)


def test_a_mapping_given_as_keywords_and_dumped_is_reported_by_the_caller(tmp_path):
    helper = """
    import json
    class Job:
        def __init__(self):
            self.trace = {'epoch': None}
        def write(self, **entries):
            entries['at'] = time.time()
            text = json.dumps(entries).strip()
            with open('trace.yaml', 'a') as file:
                file.write(text + '\\n')
        def run(self, x, y):
            self.trace['epoch'] = {'number': 1}
            loss = ((model(x) - y) ** 2).mean()
            self.trace['epoch'].update(dict(gap=loss.item()))
            self.write(**self.trace['epoch'])
    job = Job()
    """
    assert names(analyse(tmp_path, train=looped("job.run(x, y)", dedent(helper)))) == {"self.trace['epoch']": "mapping"}


def test_a_lambda_over_a_tracker_reports_each_tag(tmp_path):
    before = "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()\n"
    report = """
    note = lambda tag, value: writer.add_scalar(f'train/{tag}', value, i)
    for name in ('a', 'b'):
        note(f'gap/{name}', (model(x) - y).abs().mean().item())
    note('loss', loss.item())
    """
    findings = analyse(tmp_path, train=looped(dedent(report).strip(), before))
    assert {"train/gap/{name}", "loss"} <= {metric.name.removeprefix("train ") for metric in findings.metrics} | {
        metric.variable for metric in findings.metrics
    }


NP = "import numpy as np\n"
REWARDS = NP + "env = library.make(3)\ndef rewards():\n    return [env.step(0).reward]"
DUMMY = "class Writer:\n    def add_scalar(self, *values):\n        pass\nwriter = Writer()"
KEPT = """
class Kept:
    def __init__(self):
        self.of = {}
    def add(self, name, value):
        self.of[name] = value
    def __getitem__(self, name):
        return self.of[name]
kept = Kept()
"""
#: The report, what stands before the loop, and the variable that is a metric.
FORMS = {
    "time under a counter's name": ("print({'iteration': time.time() - start})", "start = time.time()", "start"),
    "event": ("print('step', first.elapsed_time(last))", "first, last = library.events()", "first.elapsed_time()"),
    "reward": ("np.save('x', rewards())", REWARDS, "rewards()"),
    "row": ("print(' '.join(['%.3f' % one for one in np.array(rows)[at]]))", NP + "rows = [model(1)]\nat = 0", "rows"),
    "of each class": ("print('dice', dice_per_class)", "dice_per_class = library.dice(model(1))", "dice_per_class"),
    "item of an own object": ("kept.add('gap', loss.item())\nprint('%.3f' % kept['gap'])", KEPT, "kept['gap']"),
    "stand-in for a writer": ("writer.add_scalar('gap', loss.item(), epoch)", DUMMY, "loss"),
    "model that is passed on": (
        "print('%.3f' % ask(library.batch()))",
        "class Judge:\n    def __init__(self, make):\n        self.model = make(3)\n    def __call__(self, x):\n"
        "        return self.model(x)\nask = Judge(library.make)",
        "ask()",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("report", "before", "variable"), FORMS.values(), ids=FORMS)
def test_forms_of_one_number(tmp_path, report, before, variable):
    assert variable in names(analyse(tmp_path, train=looped(report, before)))


def test_what_a_criterion_computes_of_scores_is_no_form_of_the_criterion(tmp_path):
    before = """
    class Criterion:
        def compute(self, out, target):
            return ((out - target) ** 2).mean()
    def show(number):
        print(number)
    def fit(criterion, out, target):
        error = criterion.compute(out, target)
        show(error)
    criterion = Criterion()
    """
    assert set(names(analyse(tmp_path, train=looped("fit(criterion, model(x), y)", before)))) == {"error"}


def test_what_functions_put_into_a_container_that_another_makes_of_zeros_is_in_it(tmp_path):
    before = """
    import numpy as np
    def blank(parts, whats, n):
        board = {}
        for part in parts:
            board[part] = {}
            for what in whats:
                board[part][what] = np.zeros(n)
        return board
    def put(board, part, what, amount):
        board[part][what] = amount
    board = blank(['low', 'high'], ['far'], 3)
    """
    report = "put(board, 'low', 'far', float(loss))\nnear = np.max(board['low']['far'])\nprint(f'drop: {near:.3f}')"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"near"}
    still = report.replace("float(loss)", "2.0")
    assert set(names(analyse(tmp_path / "still", train=looped(still, before)))) == set()


def test_a_lambda_that_hands_a_text_to_a_function_of_the_program_reports_it(tmp_path):
    before = """
    def show(text, path):
        print(text)
        with open(path, 'a') as file:
            file.write(text)
    say = lambda text: show(text, 'log.txt')
    """
    report = "text = 'epoch {} '.format(epoch)\ntext += 'gap={:.3f}'.format(loss.item())\nsay(text)"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"loss"}


def test_a_text_with_its_tabs_expanded_is_read_in_parts(tmp_path):
    report = "print(f'\\tgap: {loss.item():.4f} of {epoch}'.expandtabs(4))"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"loss"}


@pytest.mark.parametrize(
    "number", ["float(line)", "float(line.split(',')[1])", "[float(part) for part in line.split()][0]"]
)
def test_a_number_that_is_read_from_a_text_is_no_text(tmp_path, number):
    report = f"for line in sys.stdin:\n    loss = {number} * 0.5\n    print('loss', loss)"
    assert [metric.variable for metric in analyse(tmp_path, train=f"import sys\n{report}").metrics] == ["loss"]
