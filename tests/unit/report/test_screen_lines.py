"""A screen has at most twelve lines for one question; all else stands behind ``-v``."""

import further_pages
import numpy as np
import page_cases
import pytest
import report_cases as cases
from compared_sides import side_metric
from msgspec import structs

from deviate.core.factors import SEEDED, plain_name
from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.plan import PlanOptions, make_plan
from deviate.report.topics.audit import audit_page
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.grid import grid_page
from deviate.report.topics.live import live_page
from deviate.report.topics.plan import plan_page
from deviate.report.topics.verdicts import leading_headline
from deviate.report.writers.terminal import render_terminal

WIDTHS = pytest.mark.parametrize("width", [80, 120])

SOURCES = ("algo+impl", "init", "shuffle", "augment", "layers", "other", "data")


def lines_of(text, width, most=12):
    lines = [line for line in text.splitlines() if line]
    assert len(lines) <= most
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


LONG = [f"{net}-with-a-learning-rate-of-{rate}" for net in ("perceptron", "convolution") for rate in (0.1, 0.02)]


def compared(*seeds, names=LONG):
    sides = [
        page_cases.side(name, page_cases.sides(seed=seed)[0].samples) for name, seed in zip(names, seeds, strict=True)
    ]
    return compare_sides(sides, ComparisonOptions(), f"deviate compare {' '.join(names)}")


@WIDTHS
@pytest.mark.parametrize("names", [LONG, [f"digits@lr=0.{rate},batch_size=32" for rate in range(1, 5)]])
def test_four_experiments_with_long_names(width, names):
    comparison = compared(1, 2, 3, 4, names=names)
    text = render_terminal(comparison_page(comparison, "screen"), width)
    lines = lines_of(text, width)
    shown = [name.removeprefix("digits@").removesuffix(",batch_size=32") for name in names]
    assert sorted(line.split()[0] for line in lines if "±" in line and "mean" not in line) == sorted(shown)
    assert lines[-1].startswith("Add -v for ")
    assert lines[-1].endswith(" and all 6 pairs.")


SIX = ["base", "wide", "deep", "wide-deep", "slow", "fast"]


@WIDTHS
@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (SIX, 6),
        ([f"digits@lr=0.{rate},batch_size={size}" for rate in ("1", "03", "01") for size in (32, 128)], 6),
        ([f"digits@learning_rate=0.{rate},batch_size=32,weight_decay=0.0001" for rate in range(1, 7)], 6),
        ([f"{name}-with-a-name-that-is-nearly-as-long-as-a-line-of-it" for name in SIX], 4),
        ([f"{name}-{size}" for name in SIX for size in (32, 64)], 8),
    ],
)
def test_many_experiments(width, names, rows):
    comparison = compared(*range(len(names)), names=names)
    lines = lines_of(render_terminal(comparison_page(comparison, "screen"), width), width)
    assert sum("±" in line and "mean" not in line for line in lines) == rows
    hidden = f"{len(names) - rows} more experiments, " if rows < len(names) else ""
    assert lines[-1].startswith(f"Add -v for {hidden}")
    assert lines[-1].endswith(f" and all {len(names) * (len(names) - 1) // 2} pairs.")


def test_the_differences_are_those_from_the_first_row():
    comparison = compared(1, 2, 3, 4)
    _, table, *_ = (section.blocks[0] for section in comparison_page(comparison, "screen").sections)
    first, *rows = table.rows
    heads = [column.head for column in table.columns]
    mean, low = heads.index("mean ± SD"), heads.index("− first row, 95% CI")
    assert first.cells[low].text == ""
    for row in rows:
        difference = row.cells[mean].value - first.cells[mean].value
        a, b = (float(end.replace("−", "-")) for end in row.cells[low].text.split(" to "))
        assert a < difference < b
        assert row.cells[low].value == pytest.approx(a, abs=0.05)


def shifted(*shifts, sds=(0.3,) * 6):
    rng = np.random.default_rng(1)
    sides = [
        page_cases.side(name, [side_metric("test acc", 90 + shift + sd * rng.standard_normal(8))])
        for name, shift, sd in zip("abcdef", shifts, sds, strict=False)
    ]
    return leading_headline(compare_sides(sides, ComparisonOptions(), "deviate compare a b c d"))


def test_verdicts_beside_the_one_that_leads():
    assert shifted(0, 0, 0, 0) == "test acc (last): no difference shown, in all 6 pairs."
    others = "among the others, one is better in 2 and no difference shown in 1 of 3 pairs"
    assert shifted(0, 2, 4, 0) == f"test acc (last): c is better than all 3 others; {others}."
    third = "no difference shown between a and c"
    assert shifted(0, 2, 0) == f"test acc (last): b is better than a and c; {third}."
    # Not "between b and a and c".
    undecided = shifted(0, 0.3, -1, sds=(0.3, 4, 0.3))
    assert undecided == "test acc (last): no difference shown between b and either a or c; a is better than c."


@WIDTHS
@pytest.mark.parametrize("explained", [True, False])
def test_an_audit_with_everything_to_say(width, explained):
    audit = further_pages.audit()
    lines = [structs.replace(audit.explanation.lines[0], line=number, order=number) for number in range(1, 20)]
    explanation = structs.replace(audit.explanation, lines=lines, first_difference=11) if explained else None
    audit = structs.replace(audit, explanation=explanation)
    shown = lines_of(render_terminal(audit_page(audit, "screen"), width), width, most=20)
    assert shown[0].startswith("Runs differ as they are: initialisation and augmentation have no seed.")
    assert shown[-1].startswith("Deviate cannot hold, or cannot vary alone: augmentation (8 probes, ")
    # The line at which the probes part, and the rest in number; a probe that failed, with its last words.
    said = (
        "The probe 'data' failed",
        "KeyError: 'data'",
        *(["train.py:12", "and 16 other lines"] if explained else []),
    )
    assert all(any(text in line for line in shown[1:]) for text in said)


def test_an_audit_of_all_sources_lists_them():
    audit = further_pages.audit()
    factors = [structs.replace(audit.factors[0], factor=name) for name in SEEDED]
    audit = structs.replace(audit, factors=factors, causes=[], workers=[], probes=[], explanation=None, gpu=False)
    lines = lines_of(render_terminal(audit_page(audit, "screen"), 80), 80, most=20)
    assert [line.rpartition("  ")[0].rstrip() for line in lines if line.endswith("nothing")] == list(
        map(plain_name, SEEDED)
    )


def test_the_values_of_a_watched_experiment_have_their_points_below_each_other():
    live = further_pages.live()
    runs = [structs.replace(run, values=[value]) for run, value in zip(live.runs[:2], (100.0, 8.125), strict=True)]
    text = render_terminal(live_page(structs.replace(live, runs=runs)), 80)
    places = {value: line.index(value) for line in text.splitlines() for value in ("100.0", "8.1") if value in line}
    assert places["100.0"] + len("100") == places["8.1"] + len("8")


def test_many_experiments_are_counted():
    none = "no difference shown between it and"
    assert shifted(0, 4, 4, 4, 0) == (
        "test acc (last): c is better than 2 of 4 others; no difference shown between it and 2; "
        "among the others, one is better in 4 of 6 pairs."
    )
    assert shifted(9, 0, 0, 0, 0) == "test acc (last): a is better than all 4 others."
    assert shifted(9, 9, 9, 9, 0).endswith(
        f" is better than 1 of 4 others; {none} 3; among the others, one is better in 3 of 6 pairs."
    )


@WIDTHS
def test_failures_beside_predictions(width):
    facts = further_pages.predictions().facts
    four = [
        structs.replace(facts.variants[0].metrics[0], name=name) for name in ("top1", "top5", "val", "train", "ema")
    ]
    reason = "it ended with status 1: RuntimeError: the loss of the batch is not a finite number"
    runs = [structs.replace(run, status="failed", reason=reason) for run in facts.variants[0].runs[:3]]
    variant = structs.replace(facts.variants[0], metrics=four, runs=[*runs, *facts.variants[0].runs[3:]])
    lines = lines_of(cases.render_screen(cases.Document(structs.replace(facts, variants=[variant])), width), width)
    assert any("label" in line and "differently" in line for line in lines)
    assert any("deviate logs" in line for line in lines)
    assert [line.split()[0] for line in lines if line.split()[1:2] == ["best"]] == ["top1", "top5", "val"]


@WIDTHS
@pytest.mark.parametrize(("labels", "rows"), [(("a", "b", "c", "d"), 4), (("learning_rate=0.003,size=3",) * 4, 3)])
def test_the_cells_of_a_grid_leave_room_for_a_long_answer(width, labels, rows):
    grid = structs.replace(further_pages.grid(), missing=[])
    metric = grid.metrics[0]
    cells = [
        structs.replace(cell, label=f"{label}{place}", may_be_best=True)
        for place, (cell, label) in enumerate(zip(metric.cells, labels, strict=True))
    ]
    grid = structs.replace(grid, metrics=[structs.replace(metric, cells=cells), *grid.metrics[1:]])
    lines = lines_of(render_terminal(grid_page(grid, "screen"), width), width)
    assert sum("±" in line and "mean ± SD" not in line for line in lines) == rows
