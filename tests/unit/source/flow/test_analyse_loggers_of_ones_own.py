"""Loggers, meters and callbacks of a project's own, and what reaches them by other ways than a plain call."""

from __future__ import annotations

import pytest
from analysed_projects import analyse, looped, names

from deviate.lexicon.words import is_counting, is_metric_word, meaning_of

LOGGER = """
from torch.utils.tensorboard import SummaryWriter
class Dump:
    def __init__(self, logger, step, kind):
        self._logger = logger
        self._step = step
        self._kind = kind
    def __enter__(self):
        return self
    def __call__(self, key, value):
        self._logger.log(f'{self._kind}/{key}', value, self._step)
    def __exit__(self, *problem):
        pass
class Logger:
    def __init__(self):
        self._writer = SummaryWriter()
    def log(self, key, value, step):
        self._writer.add_scalar(key, value, step)
    def dump(self, step, kind):
        return Dump(self, step, kind)
logger = Logger()
steps = 0
"""


def test_calls_of_what_a_with_statement_opens_are_reports(tmp_path):
    report = """
    start = time.time()
    steps += 1
    frames = steps * args.repeat
    elapsed = time.time() - start
    with logger.dump(i, kind='train') as log:
        log('fps', frames / elapsed)
        log('elapsed', elapsed)
        log('cost', loss.item())
        log('episode_length', frames)
        log('step', steps)
    """
    before = f"{LOGGER}\nimport argparse\nargs = argparse.ArgumentParser().parse_args()"
    found = [metric.name for metric in analyse(tmp_path, train=looped(report, before)).metrics if metric.selected]
    assert sorted(found) == ["cost", "elapsed", "episode_length", "fps"]


def test_numbers_written_as_an_array_are_listed_one_by_one(tmp_path):
    report = """
    import numpy as np
    psnr, cost = (model(x) - y).abs().mean().item(), loss.item()
    np.savetxt('mean.txt', np.asarray([psnr, cost]))
    """
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"psnr", "cost"}


def test_code_after_the_call_of_a_method_whose_object_is_unknown_comes_after_the_loop(tmp_path):
    trainers = "import torch\n" + "".join(
        f"""
class Agent{n}:
    def __init__(self):
        self.net = torch.nn.Linear(2, 1)
    def learn_batch(self, loader):
        for epoch in range(3):
            for x, y in loader:
                loss = ((self.net(x) - y) ** 2).mean()
                loss.backward()
    def validate(self, x):
        return (self.net(x) > 0).float().mean().item()
"""
        for n in range(5)
    )
    train = """
    import argparse
    import agents
    args = argparse.ArgumentParser().parse_args()
    def run(args):
        agent = agents.__dict__[args.kind].__dict__[args.name]()
        for task in range(3):
            agent.learn_batch(read(task))
        return agent.validate(read(0))
    acc = run(args)
    print('average acc:', acc)
    """
    assert "acc" in names(analyse(tmp_path, train=train, agents=trainers))


@pytest.mark.parametrize("text", ["rank1", "Test/rank_5", "Rank-10", "average rank", "Av.rank"])
def test_ranks_of_retrieval_are_qualities(text):
    meaning = meaning_of(text)
    assert is_metric_word(text)
    assert not is_counting(text)
    assert meaning is not None
    assert meaning.kind == "quality"


@pytest.mark.parametrize("text", ["rank", "local_rank", "rank 12", "mixed_precision"])
def test_other_ranks_and_number_formats_are_none(text):
    assert not is_metric_word(text)


def test_lists_in_a_mapping_are_filled_by_the_functions_that_are_given_it(tmp_path):
    before = """
import numpy as np
def step(x, y, stats):
    loss = ((model(x) - y) ** 2).mean()
    stats['COSTS'].append(loss.item())
"""
    report = """
    stats = {'COSTS': []}
    step(x, y, stats)
    texts = [('COSTS', 'Discriminator loss')]
    shown = ['%s: %.4f' % (v, np.mean(stats[k])) for k, v in texts if len(stats[k]) > 0]
    print(' - '.join(shown))
    """
    assert list(names(analyse(tmp_path, train=looped(report, before)))) == ["stats[k]"]


def test_mean_prediction_that_is_shown_with_decimals_is_a_number(tmp_path):
    report = "src_pred = model(x).mean().item()\nprint('source: %.5f' % src_pred)"
    assert list(names(analyse(tmp_path, train=looped(report)))) == ["src_pred"]


def test_lists_of_a_logger_that_another_file_fills_are_what_is_put_there(tmp_path):
    book = """
    class Book:
        def __init__(self):
            self.fit = []
            self.shift = []
        def show(self, step):
            print('at {:<4}: [fit] {:<6} (+/- {:<6})'.format(step, round(self.fit[-1], 4), round(self.shift[-1], 4)))
    """
    report = "book.fit.append(loss.item())\nbook.shift.append(loss.item() / 2)\nbook.show(i)"
    train = looped(report, "from book import Book\nbook = Book()")
    assert set(names(analyse(tmp_path, train=train, book=book))) == {"self.fit[-1]", "self.shift[-1]"}


def test_a_meter_whose_mean_is_a_method_that_may_give_zero_is_the_value(tmp_path):
    meter = """
class Meter:
    def __init__(self):
        self.sum = self.count = 0
    def update(self, val, n=1):
        self.sum += val * n
        self.count += n
    def avg(self):
        if self.count == 0:
            return 0
        return float(self.sum) / self.count
costs, note = Meter(), Meter()
"""
    report = "costs.update(loss.item())\nnote.update('a')\nprint('it: {}, running: {:.3f}'.format(i, costs.avg()))"
    assert set(names(analyse(tmp_path, train=looped(report, meter)))) == {"costs"}


def test_a_meter_that_receives_what_is_not_known_is_not_a_setting(tmp_path):
    before = """
    from outside import align
    class Meter:
        def __init__(self):
            self.avg = self.sum = self.count = 0
        def update(self, val, n=1):
            self.sum += val * n
            self.count += n
            self.avg = self.sum / self.count
    def weighed(found, weight=None):
        return found if weight is None else found * weight
    errors = Meter()
    """
    report = "errors.update(weighed(align(i)))\nprint(f'Error: {errors.avg:.3f}')"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"errors"}


GROUPS = """
class Mean:
    def __init__(self):
        self.sum, self.count = 0, 0
    def update(self, value):
        self.sum += value
        self.count += 1
    def value(self):
        return self.sum / self.count
class Group:
    def __init__(self):
        self.means = {}
    def log(self, key, value):
        self.means.setdefault(key, Mean())
        self.means[key].update(value)
    def dump(self):
        print(" | ".join("%s: %.3f" % (key, mean.value()) for key, mean in self.means.items()))
class Rows:
    def __init__(self):
        self.train, self.test = Group(), Group()
    def log(self, key, value, step):
        group = self.train if key.startswith("train") else self.test
        group.log(key, value)
    def dump(self, step):
        self.train.dump()
"""

AGENT = """
import torch
from rows import Rows
class Agent:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def update_first(self, x, L=None, step=None):
        first = self.model(x).mean()
        if L is not None:
            L.log("first/loss", first, step)
        first.backward()
        self.optimizer.step()
    def update(self, batch, L, step):
        L.log("batch_reward", self.model(batch).mean(), step)
        self.update_first(batch, L, step)
"""


def test_a_logger_handed_from_method_to_method_reports_while_callers_are_still_being_found(tmp_path):
    train = """
    import torch
    from agent import Agent
    from rows import Rows
    def main():
        agent = Agent(torch.nn.Linear(2, 1))
        rows = Rows()
        for step in range(10):
            agent.update(torch.randn(4, 2), rows, step)
            rows.dump(step)
    main()
    """
    metrics = analyse(tmp_path, train=train, agent=AGENT, rows=GROUPS).metrics
    assert sorted(metric.name for metric in metrics if metric.selected) == ["batch_reward", "first/loss"]
