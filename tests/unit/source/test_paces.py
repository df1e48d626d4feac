"""When metrics are reported, how many rounds the main loop has, and what the options of a command leave out."""

from __future__ import annotations

import pytest

from deviate.cli.extract import _screen
from deviate.source.selection import extract

TRAIN = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--log-every", type=int, default=0)
args = parser.parse_args()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(log_every):
    total = 0.0
    for step in range(4):
        loss = model(torch.ones(2)).sum()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if log_every and step % log_every == 0:
            print(f"batch loss: {loss.item():.4f}")
    return total / 4


for epoch in range(1, args.epochs + 1):
    train_loss = train(args.log_every)
    print(f"epoch {epoch} train loss: {train_loss:.4f}")
test_loss = (model(torch.ones(2)) - 1).square().mean().item()
print(f"test loss: {test_loss:.3f}")
"""


def findings(tmp_path, *words, source=TRAIN):
    (tmp_path / "train.py").write_text(source)
    return extract(tmp_path, "train.py", (), ("python", "train.py", *words), tmp_path)


def test_metrics_are_reported_once_in_a_round_within_it_or_after_it(tmp_path):
    found = findings(tmp_path, "--log-every", "2")
    assert {metric.name: metric.pace for metric in found.metrics if metric.selected} == {
        "batch loss": "within", "train loss": "round", "test loss": "end"
    }  # fmt: skip
    assert not any(each.needs for each in found.rejected)


def test_how_often_is_not_said_of_what_is_reported_in_one_of_a_hundred_rounds(tmp_path):
    seldom = TRAIN.replace('    print(f"epoch', '    if epoch % 100 == 0:\n        print(f"epoch')
    lines = _screen(tmp_path, findings(tmp_path, source=seldom), ["python", "train.py"])
    assert [line for line in lines if line.endswith(":")] == ["in the epoch loop:", "at the end:"]


def test_what_an_option_leaves_out_is_named_with_the_option(tmp_path):
    found = findings(tmp_path)
    left = [(each.name, each.line, each.reason, each.needs) for each in found.rejected if each.needs]
    assert left == [("batch loss", 21, "unreached", "--log-every")]
    assert "batch loss" not in [metric.name for metric in found.metrics]


@pytest.mark.parametrize(
    ("words", "change", "rounds"),
    [
        ((), ("", ""), 15),
        (("--epochs", "3"), ("", ""), 3),
        ((), ("range(1, args.epochs + 1)", "tqdm(range(args.epochs))"), 15),
        ((), ("range(1, args.epochs + 1)", "loader"), None),
        ((), ("train_loss = train(args.log_every)", "train_loss = train(args.log_every)\n    if epoch: break"), None),
    ],
)
def test_the_rounds_of_the_main_loop_are_those_of_its_head_where_nothing_ends_it_earlier(
    tmp_path, words, change, rounds
):
    assert findings(tmp_path, *words, source=TRAIN.replace(*change)).main_loop.rounds == rounds


def test_functions_with_very_many_ways_to_them_have_a_pace(tmp_path):
    ways = "".join(
        f"def f{n}(x):\n    f{n - 1}(x)\n    g{n - 1}(x)\ndef g{n}(x):\n    f{n - 1}(x)\n" for n in range(1, 40)
    )
    both = "def f0(x):\n    print(f'loss: {x:.4f}')\ndef g0(x):\n    f0(x)\n"
    source = TRAIN.replace("for epoch in", f"{both}{ways}for epoch in")
    source = source.replace("test_loss =", "    f39(train_loss)\ntest_loss =")
    assert {metric.pace for metric in findings(tmp_path, source=source).metrics if metric.name == "loss"} == {"round"}
