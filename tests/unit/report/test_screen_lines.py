"""A screen has at most twelve lines for one question; all else stands behind ``-v``."""

import numpy as np
import pytest
import report_cases as cases

from deviate.inference.plan import make_plan
from deviate.inference.plan_options import PlanOptions
from deviate.report.pages.plan import plan_page
from deviate.report.writers.terminal import render_terminal

WIDTHS = pytest.mark.parametrize("width", [80, 120])

SOURCES = ("algo+impl", "init", "shuffle", "augment", "layers", "other", "data")


def lines_of(text, width):
    lines = [line for line in text.splitlines() if line]
    assert len(lines) <= 12
    assert max(map(len, lines)) <= width
    return lines


@WIDTHS
def test_a_ranking_of_all_sources(width):
    rng = np.random.default_rng(3)
    values = {source: {"test acc": (96 + rng.standard_normal(4)).tolist()} for source in SOURCES}
    runs = [run for source in SOURCES for run in cases.proven(source, 4)]
    lines = lines_of(cases.render_screen(cases.document(values, runs=runs), width), width)
    assert any("more variant" in line for line in lines)


@WIDTHS
def test_a_ranking_beside_a_warning(width):
    lines_of(cases.render_screen(cases.sources(), width), width)


@WIDTHS
@pytest.mark.parametrize(
    ("asked", "rungs"),
    [
        ({}, 4),
        ({"difference": 0.5}, 4),
        ({"difference": 0.5, "runs": 12}, 5),
        ({"difference": 0.5, "precision": 0.1}, 2),
        ({"difference": 0.5, "precision": 0.1, "sd_ratio": 2.0}, 0),
        ({"difference": 0.5, "precision": 0.1, "sd_ratio": 2.0, "runs": 12}, 1),
    ],
)
def test_a_plan_that_answers_questions(width, asked, rungs):
    plan = make_plan(PlanOptions(sd=0.4, **asked), None, "deviate plan")
    lines = lines_of(render_terminal(plan_page(plan, "screen"), width), width)
    assert sum("±" in line and ":" not in line for line in lines) == rungs
    assert lines[-1].startswith("Add -v for ")
    assert lines[-1].endswith(" and all numbers of runs.")
