"""What a loop reports in some of its rounds and once more when it is done is recorded at both places."""

from __future__ import annotations

import pytest
from analysed_projects import HEAD, analyse

from deviate.source.overlay import instrument_project

METER = """
class AverageMeter:
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, value, n=1):
        self.val = value
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count

def evaluate():
    losses = AverageMeter()
    for step, (x, y) in enumerate(loader):
        losses.update(((model(x) - y) ** 2).mean().item())
        if step % 50 == 0:
            print("step {} test loss {losses.val:.3f} ({losses.avg:.3f})".format(step, losses=losses))
    REPORT

for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
    evaluate()
"""

SUMS = """
for epoch in range(3):
    total_loss, correct = 0.0, 0
    for step, (x, y) in enumerate(loader):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        correct += (model(x) == y).sum().item()
        if step % 50 == 0:
            print("step", step, "loss", total_loss / (step + 1), "accuracy", 100. * correct / (step + 1))
    print("epoch", epoch, REPORT)
"""


def metrics_of(tmp_path, program, report):
    findings = analyse(tmp_path, train=HEAD + program.replace("REPORT", report))
    return {metric.expression: metric for metric in findings.metrics if metric.selected}, findings


@pytest.mark.parametrize(
    "report",
    [
        "print(' * test loss {losses.avg:.3f}'.format(losses=losses))",
        "writer.add_scalar('test/loss', losses.avg, epoch)",
        "print(' * test loss', float(losses.avg))",
    ],
)
def test_the_value_of_the_whole_loop_is_recorded_too(tmp_path, report):
    found, findings = metrics_of(tmp_path, METER, report)
    (metric,) = found.values()
    (further,) = metric.further
    assert (further.reads, further.span.line - metric.line) == (metric.capture.reads, 1)
    text = instrument_project(tmp_path, [metric], findings.main_loop)["train.py"].text
    assert text.count("__dv_beside__(0, ") == 2


def test_a_value_reported_in_every_round_is_recorded_once(tmp_path):
    program = METER.replace("if step % 50 == 0", "with torch.no_grad()")
    found, _ = metrics_of(tmp_path, program, "print(' * test loss {losses.avg:.3f}'.format(losses=losses))")
    assert [metric.further for metric in found.values()] == [[]]


def test_a_mean_over_the_rounds_so_far_ends_as_the_mean_of_all(tmp_path):
    found, _ = metrics_of(tmp_path, SUMS, "'loss', total_loss / len(loader)")
    loss = found["total_loss / (step + 1)"]
    assert [capture.span.line - loss.line for capture in loss.further] == [1]


def test_a_count_is_no_value_of_the_share_that_is_computed_of_it(tmp_path):
    found, _ = metrics_of(tmp_path, SUMS, "'accuracy', correct")
    assert {"correct", "100. * correct / (step + 1)"} <= set(found)
    assert not any(metric.further for metric in found.values())


MODELS = """
for number, model in enumerate(models):
    model.fit(x, y)
    if number == 0:
        print("SVC accuracy", model.score(x, y), "acc_score", accuracy_score(y, model.predict(x)))
    elif number == 1:
        print("forest accuracy", model.score(x, y), "acc_score", accuracy_score(y, model.predict(x)))
"""


def test_what_each_branch_of_a_condition_reports_is_recorded_in_each(tmp_path):
    head = "from sklearn.metrics import accuracy_score\n"
    found = {metric.name: metric for metric in analyse(tmp_path, train=HEAD + head + MODELS).metrics}
    assert [len(found["acc_score"].further), len(found["SVC accuracy"].further)] == [1, 0]


SEARCH = """
for step in range(400):
    loss = train(step)
    if step % 100 == 0:
        print("loss", loss.item())
    if loss < 0.01:
        print("loss", loss.item())
        break
"""


def test_the_round_that_ends_the_training_is_recorded_where_two_lines_print_some_rounds(tmp_path):
    found = {metric.name: metric for metric in analyse(tmp_path, train=HEAD + SEARCH).metrics}
    assert [capture.span.line - found["loss"].line for capture in found["loss"].further] == [2]
    whole = SEARCH.replace("if step % 100 == 0", "with torch.no_grad()")
    assert not any(metric.further for metric in analyse(tmp_path / "whole", train=HEAD + whole).metrics)
