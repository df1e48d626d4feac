"""Values whose parts say counter or setting, and whose name and form say metric."""

from __future__ import annotations

import pytest
from analysed_projects import analyse, looped, names

#: A function whose result nothing in the source ties to the model: it reads a file that another program wrote.
SCORED = """
import json

def scored(path):
    with open(path) as file:
        answers = json.load(file)
    right = 0
    for answer in answers:
        if answer["given"] == answer["expected"]:
            right += 1
    return 100 * right / len(answers)
"""


@pytest.mark.parametrize(
    "report",
    [
        "exact = scored('answers.json')\nprint(f'dev accuracy: {exact:.3f}')",
        "exact = scored('answers.json')\nwriter.add_scalar('accuracy/dev', exact, epoch)",
    ],
)
def test_a_share_that_is_named_and_shown_like_a_quality_is_one(tmp_path, report):
    before = f"{SCORED}\nfrom torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()\n"
    assert "exact" in names(analyse(tmp_path, train=looped(report, before)))


def test_means_of_counts_are_qualities_where_the_text_says_so(tmp_path):
    report = """
    hits = []
    for rank in ranks():
        hits.append(1 if rank <= 10 else 0)
    both = (sum(hits) / len(hits) + sum(hits) / len(hits)) / 2
    print("Hits@10 are {}".format(both))
    """
    before = "def ranks():\n    return [int(line) for line in open('ranks.txt')]\n"
    assert "both" in names(analyse(tmp_path, train=looped(report, before)))


@pytest.mark.parametrize(
    "report",
    [
        "print(f'accuracy threshold: {args.threshold:.2f}')",
        "threshold = args.threshold\nprint(f'accuracy: {threshold:.2f}')",
        "print(f'score of step {epoch}')",
        "print(f'learning rate of accuracy: {optimizer.param_groups[0][\"lr\"]:.4f}')",
    ],
)
def test_settings_and_counters_stay_what_they_are(tmp_path, report):
    before = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--threshold', type=float, default=0.5)\nargs = parser.parse_args()\n"
    )
    assert names(analyse(tmp_path, train=looped(report, before))) == {}


def test_a_writer_that_hands_everything_on_reports_where_it_is_called(tmp_path):
    writer = """
    from torch.utils.tensorboard import SummaryWriter

    class Writer:
        def __init__(self, rank):
            self.rank = rank
            self.writer = SummaryWriter()

        def add_scalar(self, *args, **kwargs):
            if self.rank == 0:
                self.writer.add_scalar(*args, **kwargs)
    """
    report = (
        "gap = (model(x) - y).max()\nwriter.add_scalar('train/loss', loss, i)\nwriter.add_scalar('train/gap', gap, i)"
    )
    before = "from writers import Writer\nwriter = Writer(0)\n"
    found = analyse(tmp_path, train=looped(report, before), writers=writer)
    assert [metric.name for metric in found.metrics if metric.selected] == ["train/loss", "train/gap"]


def test_meters_whose_method_gives_a_mean_are_metrics_of_their_own(tmp_path):
    meters = """
    import torch

    class Meter:
        def __init__(self):
            self.losses = []

        def update(self, value):
            self.losses.append(value)

        def show(self):
            return torch.mean(torch.stack(self.losses[-40:]))
    """
    report = """
    coarse.update(loss.data)
    fine.update(loss.data ** 2)
    print('[lateral-2: {:.4f}, lateral-3: {:.4f}]'.format(coarse.show(), fine.show()))
    """
    before = "from meters import Meter\ncoarse, fine = Meter(), Meter()\n"
    found = analyse(tmp_path, train=looped(report, before), meters=meters)
    assert {metric.name for metric in found.metrics if metric.selected} == {"lateral-2", "lateral-3"}


def test_options_that_configargparse_adds_are_read(tmp_path):
    train = """
    import configargparse, torch
    parser = configargparse.ArgumentParser()
    parser.add('--model', default='linear')
    args = parser.parse_args()
    model = torch.nn.Linear(2, 1)
    for epoch in range(3):
        loss = (model(torch.ones(4, 2)) ** 2).mean()
        loss.backward()
        if args.model == 'linear':
            print('loss', loss.item())
        else:
            print('other loss', float(loss))
    """
    found = analyse(tmp_path, train=train)
    assert [metric.name for metric in found.metrics if metric.selected] == ["loss"]


def test_a_decorator_that_takes_a_function_by_that_name_reports_its_time(tmp_path):
    before = """
    import functools
    def timed(function):
        @functools.wraps(function)
        def wrapper(*args):
            begun = time.time()
            result = function(*args)
            print(f"took {time.time() - begun:.2f} s")
            return result
        return wrapper
    @timed
    def shown(value):
        return value
    """
    assert names(analyse(tmp_path, train=looped("shown(loss)", before))) == {"begun": "value"}


def test_an_item_that_numbers_are_added_to_is_a_number(tmp_path):
    report = "zz = [0, 0]\nfor k in range(2):\n    zz[k] += (model(x) - y).abs().mean().item()\n    print(zz[k])"
    assert "zz[k]" in names(analyse(tmp_path, train=looped(report)))


def test_one_function_called_for_different_things_gives_different_metrics(tmp_path):
    before = "def measure(a, b):\n    return ((a - b) ** 2).mean().item()\n"
    report = "print('gap', measure(model(x), y))\nprint('gap', measure(model(x + 1), y))"
    assert len([each for each in analyse(tmp_path, train=looped(report, before)).metrics if each.selected]) == 2


def test_a_text_that_is_one_of_two_is_taken_apart(tmp_path):
    report = "note = '' if i else ' gap {:.3f}'.format(loss.item())\nprint('seen{note}'.format(note=note))"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"loss"}


def test_values_in_a_bracket_are_called_by_the_word_before_it(tmp_path):
    before = "from ranking import table\nKS = [1, 5]\n"
    report = "found = {k: {m: [] for m in ('recall',)} for k in KS}\n"
    report += "print('Recall [{:.4f}, {:.4f}]'.format(found[1]['recall'], found[5]['recall']))"
    metrics = [each for each in analyse(tmp_path, train=looped(report, before)).metrics if each.selected]
    assert [each.name.partition(" (")[0] for each in metrics] == ["Recall", "Recall"]


def test_what_is_added_under_a_computed_key_and_a_written_one_is_an_item_of_that(tmp_path):
    before = "sums = {'train': {'a': 0}, 'test': {'a': 0}}\n"
    report = "for phase in ('train', 'test'):\n    sums[phase]['a'] += loss.item()\n    gap = sums[phase]['a'] / 3\n"
    report += "    print(f'{phase}: {gap}')"
    assert "gap" in names(analyse(tmp_path, train=looped(report, before)))


@pytest.mark.parametrize("name", ["avg_return", "length_of_episode"])
def test_returns_and_lengths_of_episodes_are_metrics_by_their_names(tmp_path, name):
    before = "from play import episode\n"
    report = f"{name} = episode()\nprint(f'{name.replace('_', ' ')} {{{name}}}')"
    assert name in names(analyse(tmp_path, train=looped(report, before)))


def test_a_tracker_that_is_taken_by_a_key_reports(tmp_path):
    before = "parts = {'wandb': connect()}\n"
    assert "loss" in names(analyse(tmp_path, train=looped("parts['wandb'].log({'gap': loss})", before)))


def test_a_function_is_no_metric(tmp_path):
    before = "import wandb\nfrom choices import chosen\n"
    assert names(analyse(tmp_path, train=looped("wandb.log({'loss_fn': chosen.loss_fn})", before))) == {}


def test_a_text_made_at_run_time_that_heads_a_value_names_it(tmp_path):
    report = "for what in ['train error', 'dev error']:\n    print(f'{what}: {evaluate(loss.item(), what):.4f}')"
    (metric,) = analyse(tmp_path, train=looped(report)).metrics
    assert (metric.name, metric.capture.label) == ("{what}", "what")
    (metric,) = analyse(tmp_path / "counted", train=looped("print(f'{i}: {loss.item():.4f}')")).metrics
    assert (metric.name, metric.capture.label) == ("loss", "")


def test_what_a_figure_is_given_under_a_name_that_nothing_fills_is_no_metric(tmp_path):
    head = "import matplotlib.pyplot as plt\nlosses = []"
    ends = "\nfalse, auc = curve(model)\nplt.plot(false, auc)\nplt.plot(losses)"
    found = analyse(tmp_path, train=looped("losses.append(loss.item())", head) + ends)
    assert set(names(found)) == {"loss"}


def test_what_a_function_of_the_text_computes_is_not_labelled_by_names_of_the_text(tmp_path):
    before = """
    import time
    start = time.time()
    def spent():
        return f'{time.time() - start:.1f}'
    def show(loss, name):
        print(f"{name} elapsed = {spent()} loss = {loss:.4f}")
    """
    found = {
        metric.name: metric for metric in analyse(tmp_path, train=looped("show(loss.item(), 'tf')", before)).metrics
    }
    assert (found["elapsed"].function, found["elapsed"].capture.label) == ("spent", "")
    assert found["{name} loss"].capture.label == "name"


@pytest.mark.parametrize(
    ("report", "decimals", "unit"),
    [
        ("print(f'loss {loss.item():.4f}')", 4, ""),
        ("print('accuracy: %6.2f%%' % accuracy)", 2, "%"),
        ("print('accuracy: {:.1f} %'.format(accuracy))", 1, "%"),
        ("print(f'accuracy {accuracy:.1%}')", 3, ""),
        ("print('accuracy', accuracy)", None, ""),
        ("print(f'loss {loss.item():g}')", None, ""),
        ("writer.add_scalar('loss', loss.item(), i)\n    print(f'loss {loss.item():.3f}')", 3, ""),
    ],
)
def test_a_metric_is_written_as_the_program_writes_it(tmp_path, report, decimals, unit):
    before = f"{SCORED}\nfrom torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()\n"
    body = f"accuracy = scored('answers.json')\n{report}".replace("\n    ", "\n")
    [metric] = [each for each in analyse(tmp_path, train=looped(body, before)).metrics if each.selected]
    assert (metric.decimals, metric.unit) == (decimals, unit)
