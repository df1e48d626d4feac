"""``--until 'decided against B'``: what is asked, and when it ends."""

import sys

import pytest
from compared_sides import write_experiment

from deviate.core.errors import BadOption
from deviate.core.experiment import Decided
from deviate.runs.events import Compared
from deviate.runs.pipeline import run
from deviate.runs.request import Request
from deviate.runs.until import settle_until, until_decided
from deviate.store.folders import Workspace


def asked(**changes):
    return settle_until(Request(command=["python", "train.py"], **{"until": "decided against base", **changes}))


def test_what_can_be_typed():
    assert asked() == Decided(against="base", variant="algo+impl", least=10, most=30)
    named = asked(until="Val Acc  decided against base:init", runs=5, most=12, variants=("init",))
    assert named == Decided(against="base:init", metric="Val Acc", variant="init", least=5, most=12)
    assert named.text == "Val Acc decided against base:init"
    assert asked().text == "decided against base"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"variants": ("init", "shuffle")}, "compares one variant, found init, shuffle"),
        ({"runs": 4}, "-n 4 runs before the first look"),
        ({"most": 8}, "--max 8 in all"),
        ({"until": "decided"}, "neither METRIC ±WIDTH nor 'decided against B'"),
        ({"until": "decided against"}, "neither METRIC ±WIDTH"),
    ],
)
def test_what_cannot_be_decided_is_refused(changes, said):
    with pytest.raises(BadOption, match=said):
        asked(**changes)


def test_somebody_must_compare(tmp_path):
    training = "import random\nfor epoch in range(2):\n    loss = random.random()\n    print(f'train loss {loss}')\n"
    (tmp_path / "train.py").write_text(training)
    request = Request(
        command=[sys.executable, "train.py"], project=tmp_path, here=tmp_path, until="decided against base"
    )
    with pytest.raises(BadOption, match=r"is for `deviate run` and `deviate\.run`"):
        run(request)


class Script:
    """A referee that shows a difference at the look with so many runs."""

    def __init__(self, shown_at, hopeless=""):
        self.shown_at, self.hopeless, self.planned, self.checked = shown_at, hopeless, [], []

    def make(self, planned, first):
        self.planned.append((planned["algo+impl"], first))
        return iter(())

    def check(self, workspace, decided, side=None):
        self.checked.append(side)

    def look(self, workspace, decided, side):
        n = self.planned[-1][0]
        return Compared(
            decided=decided, metric="loss", runs=(n, 8), p=0.5, limit=0.01, verdict="no difference shown",
            shown=n >= self.shown_at, hopeless=self.hopeless,
        )  # fmt: skip


def looks(tmp_path, script, jobs=1, runs=6):
    tmp_path.mkdir(exist_ok=True)
    folder = write_experiment(tmp_path, "grown", {"loss": [1.0] * runs})
    decided = Decided(against="base", variant="algo+impl", least=5, most=12)
    return [event.runs[0] for event in until_decided(script.make, folder, decided, jobs, script)]


def test_rounds_go_on_until_a_difference_is_shown(tmp_path):
    script = Script(shown_at=8)
    assert looks(tmp_path, script) == [6, 7, 8]
    assert script.planned == [(6, True), (7, False), (8, False)]
    assert script.checked == ["grown:algo+impl"]


def test_they_end_with_the_runs_that_are_allowed_or_where_nothing_can_be_shown(tmp_path):
    assert looks(tmp_path, Script(shown_at=99), jobs=4) == [6, 10, 12]
    assert looks(tmp_path / "other", Script(shown_at=99, hopeless="one draw")) == [6]


def test_without_a_completed_run_nothing_is_compared(tmp_path):
    folder = write_experiment(tmp_path, "grown", {"loss": []}, failed=3)
    script = Script(shown_at=5)
    decided = Decided(against="base", variant="algo+impl", least=5, most=12)
    assert not list(until_decided(script.make, folder, decided, 1, script))
    assert Workspace(tmp_path).names() == ["grown"]
