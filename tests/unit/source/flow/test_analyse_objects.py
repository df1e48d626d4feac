"""Methods run of classes of which objects are made: bases, classes below them, classes that are only named."""

from __future__ import annotations

import pytest
from analysed_projects import HEAD, STEP, analyse, names

TRAIN = "for epoch in range(3):\n    for x, y in loader:\n" + "".join(
    f"        {line}\n" for line in STEP.strip().splitlines()
)
BASE = """
class Base:
    def report(self, loss):
        self.show(loss)
    def show(self, loss):
        print('base loss', loss.item())
class Below(Base):
    def show(self, loss):
        print('lower loss', loss.mean())
class Other:
    def show(self, loss):
        print('other loss', loss.sum())
"""
LINES = {"base": 6, "lower": 9, "other": 12}
RUN = {
    "a class below shows in place of its base": ("tool = Below()\n", "tool.report(loss)", {"lower"}),
    "the base itself is made": ("tool = Base()\n", "tool.report(loss)", {"base"}),
    "both are made": ("tool, second = Below(), Base()\n", "tool.report(loss)", {"base", "lower"}),
    "an unknown object is asked": ("tools = [Below(), Other()]\n", "tools[0].show(loss)", {"lower", "other"}),
    "its own class is asked": ("tool, unused = Below(), Other()\n", "tool.report(loss)", {"lower"}),
    "a class that is only tested for": ("tool = load()\nisinstance(tool, Base)\n", "tool.report(loss)", {"base"}),
    "a class below the one tested for": ("tool = Below()\nisinstance(tool, Base)\n", "tool.report(loss)", {"lower"}),
    "a class that annotates": ("tool: Base = Below()\n", "tool.report(loss)", {"lower"}),
}  # fmt: skip


@pytest.mark.parametrize(("made", "asked", "shown"), RUN.values(), ids=RUN.keys())
def test_methods_are_those_of_the_objects_that_are_made(tmp_path, made, asked, shown):
    findings = analyse(tmp_path, tools=BASE, train=HEAD + "from tools import *\n" + made + TRAIN + f"        {asked}\n")
    lines = {metric.line for metric in findings.metrics if metric.selected and metric.file == "tools.py"}
    assert lines == {LINES[one] for one in shown}


def test_what_a_class_asks_of_the_one_above_runs(tmp_path):
    below = "class Below(Base):\n    def show(self, loss):\n        super().show(loss)\n"
    text = HEAD + "from tools import Base\n" + below + "tool = Below()\n" + TRAIN + "        tool.report(loss)\n"
    assert "loss" in names(analyse(tmp_path, tools=BASE.partition("class Below")[0], train=text))


def test_what_only_an_overridden_method_calls_does_not_run(tmp_path):
    head = "class Base:\n    def build(self):\n        self.show()\n"
    head += "    def show(self):\n        print('loss', loss.item() * 2)\n"
    below = "class Below(Base):\n    def build(self):\n        print('loss', loss.item())\n"
    findings = analyse(tmp_path, train=HEAD + head + below + "tool = Below()\n" + TRAIN + "        tool.build()\n")
    assert len([metric for metric in findings.metrics if metric.selected]) == 1
    assert any(rejection.reason == "unreached" for rejection in findings.rejected)
