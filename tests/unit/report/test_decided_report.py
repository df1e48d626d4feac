"""What is said where a comparison decided how many runs were made."""

import numpy as np
import pytest
import report_cases as cases
from msgspec import structs

from deviate.core.experiment import Decided
from deviate.report.topics.runs import compared_line
from deviate.runs.events import Compared

DECIDED = Decided(against="base", variant="algo+impl", least=10, most=30)


def line(**changes):
    fields = {
        "decided": DECIDED, "metric": "test acc", "runs": (12, 8), "p": 0.03, "limit": 0.012,
        "verdict": "no difference shown", "shown": False,
    }  # fmt: skip
    return compared_line(Compared(**{**fields, **changes}))


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({}, ", p = 0.030; below 0.012 decides at this look"),
        ({"runs": (30, 8)}, "decides at this look: not decided, and no more runs are allowed"),
        ({"p": 0.001, "shown": True, "verdict": "a better"}, ", p = 0.0010: decided, algo+impl is better"),
        ({"p": 0.001, "shown": True, "verdict": "b better"}, ": decided, base is better"),
        ({"p": 0.001, "shown": True}, ": decided, they differ"),
        ({"p": None}, ", p –; below 0.012 decides at this look"),
        ({"hopeless": "all runs of base used the same random numbers for init"},
         ": no verdict however many runs, since all runs of base used the same random numbers for init"),
    ],
)  # fmt: skip
def test_a_line_after_each_round_says_how_far_it_is(changes, ending):
    said = line(**changes)
    assert said.startswith("algo+impl against base: test acc, ")
    assert said.endswith(ending)


@pytest.mark.parametrize("render", [cases.render_terminal, cases.render_markdown])
def test_a_report_says_what_decided_the_number_of_runs(render):
    values = np.random.default_rng(3).normal(90, 1, 12).tolist()
    made = cases.results({"algo+impl": {"test acc": values}, "init": {"test acc": values}})
    decided = structs.replace(made, experiment=structs.replace(made.experiment, decided=DECIDED))
    text = " ".join(render(cases.said(decided)).replace("\\", "").split())
    assert text.count("Runs were added until a difference from base was shown, or there were 30.") == 1
    assert "until a difference from base was shown" not in render(cases.said(made))
    methods = " ".join(cases.contract(cases.said(decided))["methods"])
    assert "Runs of algo+impl were added round by round, from 10 on" in methods
