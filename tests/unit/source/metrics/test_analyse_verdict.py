"""What counts as a metric, where it must be reported, and what is assumed of it."""

from __future__ import annotations

import textwrap

import pytest
from analysed_projects import analyse, looped, names

from deviate.lexicon.words import UNNAMED, meaning_of
from deviate.observe.headline import main_metric

PLAIN = """
import random

epochs = 3
for epoch in range(epochs):
    loss = 1.0 + random.gauss(0, 1)
    accuracy = 50 * random.random()
    print(f"epoch {epoch} train loss {loss:.4f} test accuracy {accuracy:.2f}%")
"""


def test_the_loop_that_reports_is_the_main_loop_where_nothing_trains(tmp_path):
    findings = analyse(tmp_path, train=PLAIN)
    assert (findings.main_loop.line, findings.main_loop.variable, findings.main_loop.kind) == (5, "epoch", "for")
    assert "reports metrics" in findings.main_loop.why
    assert sorted(metric.name for metric in findings.metrics if metric.selected) == ["test accuracy", "train loss"]


def test_the_loop_that_reports_through_a_function_is_the_main_loop(tmp_path):
    train = """
    import random

    def report(value):
        print('score %.3f' % value)

    def main():
        for step in range(3):
            report(random.random())

    main()
    """
    assert analyse(tmp_path, train=train).main_loop.line == 8


def test_a_loop_over_the_items_of_a_report_is_no_main_loop(tmp_path):
    train = "import library\nfor name, value in library.evaluate().items():\n    print(name, 'accuracy', value)\n"
    assert analyse(tmp_path, train=train).main_loop is None


def test_a_weight_changed_by_a_gradient_is_training(tmp_path):
    train = """
    weight = 0.0
    for epoch in range(3):
        for x in (1.0, 2.0):
            gradient = 2 * x * (weight * x - 3 * x)
            weight -= 0.02 * gradient
        print('weight off by', abs(weight - 3))
    """
    findings = analyse(tmp_path, train=train)
    assert "weight update" in findings.main_loop.why
    assert findings.main_loop.line == 3


def test_steps_of_random_size_do_not_make_a_counter(tmp_path):
    loop = "import random\nloss = 1.0\nfor epoch in range(3):\n    {}\n    print('loss', loss)\n"
    assert list(names(analyse(tmp_path, train=loop.format("loss -= 0.1 * random.random()")))) == ["loss"]


@pytest.mark.parametrize("step", ["1", "len(x)", "x.size(0)", "x.numel()", "batch_size"])
def test_steps_of_a_constant_or_a_size_make_a_counter(tmp_path, step):
    findings = analyse(tmp_path, train=looped(f"seen += {step}\nprint('so far', seen)", "seen = 0\nbatch_size = 4"))
    assert {rejection.variable: rejection.reason for rejection in findings.rejected}["seen"] in {"counter", "constant"}


def test_aggregates_are_the_last_value_the_mean_time_and_the_largest_memory(tmp_path):
    report = """
    start = time.time()
    print('loss', loss.item())
    print('accuracy', (model(x) > 0).float().mean().item())
    print('took', time.time() - start)
    print('memory', torch.cuda.max_memory_allocated())
    """
    metrics = analyse(tmp_path, train=looped(report)).metrics
    assert {metric.kind: metric.aggregate for metric in metrics} == {
        "loss": "last", "quality": "last", "speed": "mean", "resource": "max",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "within", "aggregate"),
    [("start = time.time()", "", "last"), ("", "start = time.time()", "mean")],
)
def test_a_time_since_before_the_loop_is_the_last_one(tmp_path, before, within, aggregate):
    report = f"{within}\nspent = time.time() - start\nprint(f'time {{spent:.1f}}s')"
    (metric,) = analyse(tmp_path, train=looped(report, before)).metrics
    assert (metric.kind, metric.aggregate) == ("speed", aggregate)


DIRECTIONS = {
    "higher": "return returns episodic_return EpRet reward score fitness elo win_rate mAP IoU dice BLEU R2 AUC F1 "
    "precision recall explained_variance lat_accu",
    "lower": "perplexity FID WER CER MSE MAE RMSE error mspe RTE RRE",
    None: "KL approx_kl entropy clipfrac grad_norm",
}


KNOWN = [(key, word) for key, text in DIRECTIONS.items() for word in text.split()]


@pytest.mark.parametrize(("direction", "name"), KNOWN)
def test_direction_is_known_by_name(direction, name):
    meaning = meaning_of(name)
    assert (meaning.kind, meaning.direction) == ("quality", direction)


@pytest.mark.parametrize("name", ["kl_loss", "entropy loss", "loss/kl", "cross entropy", "loss_dice"])
def test_what_is_called_a_loss_is_to_be_lowered(name):
    assert (meaning_of(name).kind, meaning_of(name).direction) == ("loss", "lower")


def test_reports_of_code_that_only_prepares_are_listed_and_not_selected(tmp_path):
    setup = """
    def check_memory():
        free = torch.cuda.max_memory_allocated() / 1e9
        print(f'{free:.1f} GB free')

    check_memory()
    """
    metrics = analyse(tmp_path, train=looped("print('loss', loss.item())", setup)).metrics
    assert [(metric.kind, metric.selected) for metric in metrics] == [("loss", True), ("resource", False)]
    assert "neither in the main loop nor after it" in metrics[1].why


def test_it_is_said_whether_a_report_stands_in_the_main_loop_or_after_it(tmp_path):
    after = """
    print(f'test loss {criterion(model(held), target).item():.3f}')
    for c, part in enumerate(parts(model)):
        print(f'class {c}: accuracy {part:.1f}')
    """
    metrics = analyse(tmp_path, train=looped("print('train loss', loss.item())") + textwrap.dedent(after)).metrics
    reports = {metric.name: metric.why.split(";")[0] for metric in metrics}
    assert reports["train loss"] == "printed in the main loop"
    assert reports["test loss"] == "printed after the main loop"
    assert "printed after the main loop, again and again" in reports.values()


def test_what_is_reported_before_the_main_loop_is_said_so_and_gives_no_name_to_what_is_reported_after_it(tmp_path):
    code = """
    import torch

    def evaluate(model):
        return (model(x).argmax(1) == y).float().mean().item()

    def train(steps):
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        acc = evaluate(model)
        print(f'initial accuracy {100 * acc:.1f}')
        for step in range(steps):
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            acc = evaluate(model)
        print(f'final accuracy {100 * acc:.1f}')

    train(3)
    """
    (metric,) = analyse(tmp_path, train=textwrap.dedent(code)).metrics
    assert (metric.name, metric.why.split(";")[0]) == ("final accuracy", "printed after the main loop")

    (metric,) = analyse(tmp_path, train=textwrap.dedent(code.replace("print(f'final", "str(f'final"))).metrics
    assert (metric.name, metric.why.split(";")[0]) == ("initial accuracy", "printed before the main loop")


def test_what_stands_behind_a_plus_and_minus_has_no_better_side(tmp_path):
    train = """
    import numpy as np
    import torch
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scores = [(model(each).argmax(1) == y).float().mean().item() for each in tests]
        found = {"mean_return": np.mean(scores), "std_return": np.std(scores)}
        print(f"Eval Return: {found['mean_return']:7.2f} ± {found['std_return']:.2f}")
    """
    directions = {metric.name: metric.direction for metric in analyse(tmp_path, train=train).metrics}
    assert directions == {"Eval Return": "higher", "Eval Return ±": None}


@pytest.mark.parametrize(
    ("first", "why"),
    [("start", {"Initial loss": "printed before the main loop; computed as it runs"}), ("loss", {})],
    ids=["two", "one"],
)
def test_what_is_reported_before_the_training_neither_leads_nor_names_what_the_training_reports(tmp_path, first, why):
    train = f"""
    import torch
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {first} = torch.nn.functional.cross_entropy(model(x), y)
    print("Initial loss: ", {first}.item())
    for epoch in range(3):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"epoch = {{epoch}}, loss = {{loss.item()}}")
    """
    metrics = analyse(tmp_path, train=train).metrics
    assert main_metric(metrics).name == "loss"
    assert {metric.name: metric.why for metric in metrics if metric.name != "loss"} == why


def test_reports_after_the_training_and_of_callbacks_are_selected(tmp_path):
    before = """
    def final():
        print('final accuracy', (model(torch.ones(3, 2)) > 0).float().mean().item())

    def each(hooks):
        for hook in hooks:
            hook(model)

    def watch(model):
        print('watched score', model(torch.ones(3, 2)).mean().item())

    hooks = [watch]
    """
    metrics = analyse(tmp_path, train=looped("each(hooks)", before) + "\nfinal()\n").metrics
    assert sorted(metric.name for metric in metrics if metric.selected) == ["final accuracy", "watched score"]


def test_a_unit_in_the_text_makes_no_resource_of_a_value_that_is_not_measured_memory(tmp_path):
    (metric,) = analyse(tmp_path, train=looped("print(f'{loss.item():.2f} GB RAM')")).metrics
    assert metric.kind == "loss"


def test_a_loop_that_repeats_whole_trainings_is_not_the_main_loop(tmp_path):
    train = """
    import torch

    def train(rate):
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for epoch in range(3):
            loss = model(torch.ones(2)).sum()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        return loss

    for generation in range(4):
        train(0.1 * generation)
    """
    assert analyse(tmp_path, train=train).main_loop.variable == "epoch"


def test_what_functions_nobody_calls_would_report_is_unreached(tmp_path):
    dead = "def profile():\n    print('profiled loss', model(loader[0][0]).mean().item())\n"
    findings = analyse(tmp_path, train=looped("print('loss', loss.item())", dead))
    assert [rejection.reason for rejection in findings.rejected if rejection.variable.startswith("model")] == [
        "unreached"
    ]
    assert list(names(findings)) == ["loss"]


def test_the_length_of_an_episode_is_a_metric_although_it_counts(tmp_path):
    report = "length += 1\nprint('episode length', length)\n"
    (metric,) = analyse(tmp_path, train=looped(report, "length = 0")).metrics
    assert (metric.name, metric.direction) == ("episode length", None)


def test_a_duration_is_named_by_its_text_and_never_by_the_clock_it_starts_from(tmp_path):
    report = "print(f'epoch {epoch} elapse: {(time.time() - start) / 60:.2f}')"
    (metric,) = analyse(tmp_path, train=looped(report, "start = time.time()")).metrics
    assert metric.name == "elapse"


def test_arguments_spread_by_a_star_keep_their_origin(tmp_path):
    helper = "def scores(a, b):\n    return a / 2, b\n"
    report = "both = [loss.item(), loss.item()]\nfirst, second = scores(*both)\nprint('gain %.3f' % first)"
    assert list(names(analyse(tmp_path, train=looped(report, helper)))) == ["first"]


@pytest.mark.parametrize("key", ["epoch", "global_step", "train/iteration", "n_parameters", "num_params"])
def test_what_a_tracker_is_told_of_the_progress_is_no_metric_whatever_it_comes_from(tmp_path, key):
    report = f"stats = {{'loss': loss.item(), 'more': model(x)}}\nwandb.log({{'{key}': stats.get('{key}')}})"
    findings = analyse(tmp_path, train=looped(report, "import wandb\n"))
    assert not [metric for metric in findings.metrics if metric.selected]


def test_a_value_after_a_count_is_named_by_the_words_before_the_count(tmp_path):
    report = (
        "acc = (model(x) > 0).float().mean()\nprint(f'Accuracy of the network on {len(loader)} test images: {acc:.1f}')"
    )
    (metric,) = [metric for metric in analyse(tmp_path, train=looped(report)).metrics if metric.selected]
    assert (metric.name, metric.direction) == ("Accuracy of the network", "higher")


def test_the_scale_of_a_loss_is_no_loss():
    assert meaning_of("loss_scale") == meaning_of("loss scaler") == UNNAMED
    assert meaning_of("scaled loss").kind == "loss"


def test_items_of_a_mapping_are_metrics_where_a_key_names_one(tmp_path):
    base = """
    class Base:
        def __init__(self):
            self.info, self.other = dict(), dict()
        def show(self):
            for k, v in self.info.items():
                print('\\t{}: {}'.format(k, v))
            for k, w in self.other.items():
                print('\\t{}: {}'.format(k, w))
    """
    before = """
    from base import Base
    class Work(Base):
        def step(self, loss):
            self.info['mean_loss'] = loss.item()
            self.other['output'] = loss
            self.show()
    work = Work()
    """
    found = analyse(tmp_path, train=looped("work.step(loss)", before), base=base)
    assert [(metric.variable, metric.line) for metric in found.metrics if metric.selected] == [("v", 7)]


def test_a_learning_rate_before_a_time_does_not_name_it(tmp_path):
    report = "print('lr {:.3e},'.format(optimizer.param_groups[0]['lr']), ' ({:.3f} secs)'.format(time.time() - tick))"
    assert set(names(analyse(tmp_path, train=looped(report, "tick = time.time()")))) == {"tick"}


def test_a_loss_that_chance_and_the_clock_change_is_no_time(tmp_path):
    text = """
    import random, time
    shift = time.time() % 1
    weight = random.gauss(0, 1)
    for epoch in range(4):
        weight -= 0.1 * (weight - shift)
        loss = weight ** 2
        print(f"epoch {epoch} loss {loss:.9f}")
    """
    (metric,) = analyse(tmp_path, train=textwrap.dedent(text)).metrics
    assert metric.kind == "loss"


def test_a_weight_that_the_text_calls_an_error_is_no_coefficient(tmp_path):
    text = """
    import json, random
    weight = json.load(open("model.json"))
    print(f"noisy error {weight + random.gauss(0, 0.01):.6f}")
    print(f"loss weight {weight:.6f}")
    """
    (metric,) = [each for each in analyse(tmp_path, train=textwrap.dedent(text)).metrics if each.selected]
    assert metric.name == "noisy error"


def test_another_method_that_repeats_trainings_of_its_own_is_not_beside_the_training(tmp_path):
    def method(name: str) -> str:
        return f"""
def fit_{name}(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
    return model

def run_{name}(clients):
    for i in range(5):
        for client in clients:
            model = fit_{name}(client.model, client.loader)
        accuracy_{name} = judge(model, client.loader)
        print('accuracy of {name}: %.3f' % accuracy_{name})
"""

    train = f"import torch\n{method('one')}{method('two')}\nrun_two(clients)\nrun_one(clients)\n"
    assert {"accuracy_one", "accuracy_two"} <= set(names(analyse(tmp_path, train=train)))


def test_a_scalar_under_a_tag_is_a_number_though_texts_stand_where_it_comes_from(tmp_path):
    train = """
    import tensorflow as tf
    def note(total):
        for part in tf.get_collection('losses', scope='') + [total]:
            tf.summary.scalar(part.op.name + ' (raw)', part)
    parts = {'all': 'mean', 'total': build()}
    note(parts[choose()])
    merged = tf.summary.merge_all()
    with tf.Session() as sess:
        for step in range(100):
            _, text = sess.run([train_op, merged])
    """
    assert "part" in names(analyse(tmp_path, train=train))


def test_a_map_of_a_part_of_the_data_is_a_mean_precision(tmp_path):
    before = """
    def judge(found, wanted):
        areas = [len(one) for one in found]
        return {'all': areas, 'map': sum(areas) * 1.0, 'title': 'areas'}
    """
    report = (
        "result = judge(found, wanted)\nplots.line(Y=np.array([result['map']]), X=np.array([epoch]), win='test_map')"
    )
    assert list(names(analyse(tmp_path, train=looped(report, before)))) == ["result['map']"]


@pytest.mark.parametrize(("beside", "found"), [("ner_prec_micro", True), ("ner_precision_micro", True), ("gap", False)])
def test_rec_is_the_recall_beside_a_precision_of_its_name(tmp_path, beside, found):
    before = "import csv\nimport outside\nrows = csv.writer(open('log.csv', 'w'))"
    report = f"{beside}, ner_rec_micro = outside.rates(epoch)\nrows.writerow([{beside}, ner_rec_micro])"
    selected = [one for one in analyse(tmp_path, train=looped(report, before)).metrics if one.selected]
    assert any(one.variable == "ner_rec_micro" and one.direction == "higher" for one in selected) == found


def test_what_takes_numbers_alone_is_given_no_samples(tmp_path):
    before = """
    from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter()
    def learn(x, y):
        loss = ((model(x) - y) ** 2).mean()
        return {'gap': loss.item(), 'width': (model(x) - y).abs().max().item()}
    """
    report = """
    output = learn(x, y)
    for key in output.keys():
        writer.add_scalar(key, output[key], i)
    """
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"output[key]"}
