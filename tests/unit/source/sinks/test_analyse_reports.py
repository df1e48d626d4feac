"""Each way of reporting: what is found, what is rejected, and how it is recorded."""

from __future__ import annotations

from textwrap import dedent

import pytest
from analysed_projects import analyse, looped, names

IDIOMS = {
    "print with commas": ("print('loss', loss.item(), 'epoch', epoch)", ""),
    "f-string": ("print(f'epoch {epoch} loss {loss.item():.4f}')", ""),
    "percent": ("print('epoch %d loss %.4f' % (epoch, loss.item()))", ""),
    "str.format": ("print('epoch {} loss {:.4f}'.format(epoch, loss.item()))", ""),
    "text added": ("print('loss ' + str(loss.item()))", ""),
    "text built first": ("text = 'loss %.3f' % loss.item()\nprint(text)", ""),
    "text grown": ("text = f'{epoch}: '\ntext += f'loss {loss.item():.3f}'\nprint(text)", ""),
    "list of texts": ("parts = [f'loss {loss.item():.2f}']\nprint(' '.join(parts))", ""),
    "print of tensorflow": ("tf.print('loss: ', loss, 'epoch', epoch)", "import tensorflow as tf"),
    "stdout": ("sys.stdout.write('\\rloss %f' % loss.item())", "import sys"),
    "logging": ("logging.info('epoch %d loss %f', epoch, loss.item())", "import logging"),
    "named logger": ("log.info(f'loss {loss.item()}')", "import logging\nlog = logging.getLogger('x')"),
    "own log function": ("log('loss %.3f' % loss.item())", "def log(text):\n    print('[run]', text)"),
    "tensorboard": (
        "w.add_scalar('train/loss', loss.item(), i)",
        "from torch.utils.tensorboard import SummaryWriter\nw = SummaryWriter()",
    ),
    "wandb": ("wandb.log({'loss': loss.item(), 'epoch': epoch})", "import wandb"),
    "mlflow": ("mlflow.log_metric('loss', loss.item(), step=i)", "import mlflow"),
    "neptune": ("run['train/loss'].append(loss.item())", "import neptune\nrun = neptune.init_run()"),
    "visdom": ("vis.line(Y=[loss.item()], X=[i], win='loss')", "import visdom\nvis = visdom.Visdom()"),
    "ray tune": ("tune.report(loss=loss.item())", "from ray import tune"),
    "tqdm postfix": ("bar.set_postfix(loss=loss.item(), epoch=epoch)", "from tqdm import tqdm\nbar = tqdm(loader)"),
    "rich progress": (
        "bar.update(task, advance=1, loss=loss.item())",
        "from rich.progress import Progress\nbar = Progress()\ntask = bar.add_task('train')",
    ),
    "tqdm description": ("bar.set_description(f'loss {loss.item():.2f}')", "from tqdm import tqdm\nbar = tqdm(loader)"),
    "tqdm description by keyword": (
        "bar.set_description(desc='loss %.3f' % loss.item())",
        "from tqdm import tqdm\nbar = tqdm(loader)",
    ),
    "bar suffix": ("bar.suffix = 'loss {:.3f}'.format(loss.item())", "bar = object()"),
    "file": ("f.write(f'{epoch},{loss.item()}\\n')", "f = open('log.txt', 'w')"),
    "csv": ("w.writerow([epoch, loss.item()])", "import csv\nw = csv.writer(open('a.csv', 'w'))"),
    "json lines": ("f.write(json.dumps({'epoch': epoch, 'loss': loss.item()}))", "import json\nf = open('l', 'w')"),
    "kept for a table": (
        "rows.append({'epoch': epoch, 'loss': loss.item()})\npd.DataFrame(rows).to_csv('x')",
        "import pandas as pd\nrows = []",
    ),
    "kept for columns": (
        "losses.append(loss.item())\ntable = pd.DataFrame(data={'Loss': losses})\ntable.to_csv('x')",
        "import pandas as pd\nlosses = []",
    ),
    "kept for a file": ("kept.append(loss.item())\nnp.savez('x', losses=kept)", "import numpy as np\nkept = []"),
    "kept for a figure": (
        "losses.append(loss.item())\nplt.plot(losses)",
        "import matplotlib.pyplot as plt\nlosses = []",
    ),
    "dict filled by key": ("s = {}\ns['loss'] = loss.item()\nwandb.log(s)", "import wandb"),
    "epoch logger": (
        "logger.store(Loss=loss.item())\nlogger.log_tabular('Epoch', epoch)",
        "from spinup.utils.logx import EpochLogger\nlogger = EpochLogger()",
    ),
    "event storage": ("storage.put_scalar('loss', loss.item())", "storage = get_event_storage()"),
    "baselines": ("logger.logkv_mean('loss', loss.item())", "from baselines import logger"),
}


@pytest.mark.parametrize(("report", "before"), IDIOMS.values(), ids=IDIOMS.keys())
def test_every_idiom_gives_the_loss_and_not_the_epoch(tmp_path, report, before):
    captures = names(analyse(tmp_path, train=looped(report, before)))
    assert captures == {"loss": "value"}


def test_values_that_are_no_metrics_are_rejected_with_the_reason(tmp_path):
    findings = analyse(
        tmp_path,
        train=looped(
            "print(epoch, i, args.lr, len(loader), path, optimizer.param_groups[0]['lr'], loss.item())",
            "import argparse, os\nargs = argparse.ArgumentParser().parse_args()\npath = os.path.join('a', 'b')\n",
        ),
    )
    reasons = {rejection.variable: rejection.reason for rejection in findings.rejected}
    assert reasons["epoch"] == reasons["i"] == "counter"
    assert reasons["args.lr"] == reasons["optimizer.param_groups[0]['lr']"] == "setting"
    assert reasons["path"] == "path"
    assert reasons["loader"] == "constant"
    assert list(names(findings)) == ["loss"]


def test_one_value_reported_twice_is_one_metric(tmp_path):
    report = "print(loss.item())\nw.add_scalar('loss', loss.item(), i)"
    findings = analyse(
        tmp_path, train=looped(report, "from torch.utils.tensorboard import SummaryWriter\nw = SummaryWriter()")
    )
    assert len(findings.metrics) == 1


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("100.*correct/8", "100.*correct/8"),
        ("(correct\n            / 8)", "correct / 8"),
        ("max(correct,  # the best\n            0.5)", "max(correct, 0.5)"),
    ],
)
def test_an_expression_is_shown_on_one_line_as_its_author_wrote_it(tmp_path, written, shown):
    report = f"""
    correct = ((model(x) > 0) == (y > 0)).float().mean().item()
    print('acc', {written})
    """
    (metric,) = analyse(tmp_path, train=looped(report)).metrics
    assert metric.expression == shown


def test_share_is_chosen_over_the_count_it_is_made_of(tmp_path):
    report = """
    correct += ((model(x) > 0) == (y > 0)).sum().item()
    total += y.size(0)
    print('acc %d/%d (%.1f%%)' % (correct, total, 100. * correct / total))
    """
    (metric,) = analyse(tmp_path, train=looped(report, "correct = 0\ntotal = 0")).metrics
    assert (metric.variable, metric.expression) == ("correct", "100. * correct / total")
    assert (metric.name, metric.kind, metric.direction, metric.aggregate) == ("acc", "quality", "higher", "last")


def test_time_between_two_clock_readings_is_a_cost(tmp_path):
    (metric,) = analyse(tmp_path, train=looped("print('took', time.time() - start)", "start = time.time()")).metrics
    assert (metric.kind, metric.direction, metric.variable) == ("speed", "lower", "start")


def test_a_time_in_brackets_behind_another_value_is_called_a_time(tmp_path):
    body = "tic = time.time()\nacc = (model(x) > 0).float().mean().item()\n"
    report = f"import time\n{body}print(f'val acc {{acc:.2%}}  ({{time.time() - tic:.1f}}s)')"
    found = analyse(tmp_path, train=looped(report)).metrics
    assert {metric.name: metric.kind for metric in found if metric.selected} == {"val acc": "quality", "time": "speed"}


def test_a_dictionary_logged_whole_is_captured_as_a_mapping(tmp_path):
    helper = "def evaluate(model):\n    return {k: v for k, v in library_metrics(model).items()}\n"
    findings = analyse(tmp_path, train=looped("stats = evaluate(model)\nwandb.log(stats)", "import wandb\n" + helper))
    assert names(findings) == {"stats": "mapping"}


def test_text_that_tells_series_apart_becomes_a_label(tmp_path):
    text = """
    def report(split, score):
        print('%s score: %.2f' % (split, model(score).mean().item()))
    """
    findings = analyse(tmp_path, train=looped("report('train', x)\nreport('test', x)", text))
    (metric,) = findings.metrics
    assert metric.name == "{split} score"
    assert metric.capture.label == "split"


def test_names_are_unique(tmp_path):
    script = looped("train(x)\ntest(x)", "def train(x):\n    print('loss', model(x).mean().item())\n"
                    "def test(x):\n    print('loss', model(x).sum().item())\n")  # fmt: skip
    reported_names = [metric.name for metric in analyse(tmp_path, train=script).metrics]
    assert sorted(reported_names) == ["test loss", "train loss"]


def test_results_are_the_same_each_time(tmp_path):
    script = looped("print(f'{loss.item():.3f} {x.mean():.2f} {epoch}')")
    assert analyse(tmp_path, train=script) == analyse(tmp_path, train=script)


def test_most_certain_first(tmp_path):
    script = looped("print('loss %.3f' % loss.item())") + "\nprint('score', library(model))\n"
    confidences = [metric.confidence for metric in analyse(tmp_path, train=script).metrics]
    assert confidences == sorted(confidences, reverse=True)


def test_text_that_a_method_makes_of_what_its_object_holds_is_taken_apart_through_a_name(tmp_path):
    before = """
    class Tasks:
        def __init__(self):
            self.depth = 0
        def update(self, given):
            self.depth = given.item()
        def text(self):
            out = ''
            out += ' Depth {:.4f}'.format(self.depth)
            return out
    tasks = Tasks()
    """
    report = "tasks.update(loss)\nshown = tasks.text()\nprint('Epoch {} | Train:{}'.format(epoch, shown))"
    assert list(names(analyse(tmp_path, train=looped(report, before)))) == ["self.depth"]


METER_OF_SEVERAL = """
class Meter:
    def __init__(self, items=None):
        self.items = items
        self.n = 1 if items is None else len(items)
        self._val, self._sum, self._count = [0] * self.n, [0] * self.n, [0] * self.n
    def update(self, values):
        for i, value in enumerate(values):
            self._val[i] = value
            self._sum[i] += value
            self._count[i] += 1
    def val(self, idx=None):
        if idx is None:
            return self._val[0] if self.items is None else [self._val[i] for i in range(self.n)]
        return self._val[idx]
    def avg(self, idx=None):
        if idx is None:
            return self._sum[0] / self._count[0] if self.items is None else [
                self._sum[i] / self._count[i] for i in range(self.n)
            ]
        return self._sum[idx] / self._count[idx]
losses = Meter()
"""


@pytest.mark.parametrize("call", ["losses.avg(0)", "losses.val()"])
def test_a_meter_of_several_values_is_one_metric_where_it_is_read(tmp_path, call):
    """The method has a return for each case, and a text took part in what it is given."""
    report = f"losses.update([scaled(loss, f'{{epoch}}').item()])\nprint('loss %.4f' % {call})"
    before = "def scaled(value, text):\n    return torch.nn.functional.interpolate(value, text)" + METER_OF_SEVERAL
    metrics = analyse(tmp_path, train=looped(report, before)).metrics
    assert [metric.expression for metric in metrics] == [call]


def test_the_negative_of_what_a_function_computes_is_recorded_where_it_is_reported(tmp_path):
    """Within a function that a gradient is taken of, the value may be no number."""
    before = "def objective(value, text):\n    return -torch.nn.functional.interpolate(value, text)"
    report = "print('loss', objective(model(x), f'{epoch}'))"
    (metric,) = analyse(tmp_path, train=looped(report, before)).metrics
    assert metric.expression == "objective(model(x), f'{epoch}')"


def test_a_name_that_is_put_before_itself_is_the_whole_name(tmp_path):
    before = """
    class Logger:
        def __init__(self):
            self.buffer = {}
        def add_metric(self, name, value):
            self.buffer[name] = value
        def measured(self, name, start):
            name = 'time_' + name
            self.add_metric(name, time.time() - start)
        def commit(self):
            print(self.buffer)
    logger = Logger()
    """
    report = "logger.add_metric('loss', loss.item())\nlogger.measured('step', time.time())\nlogger.commit()"
    found = analyse(tmp_path, train=looped(report, dedent(before))).metrics
    assert {metric.name for metric in found} == {"loss", "{name}"}
