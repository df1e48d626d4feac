"""A screen has at most twelve lines for one question, of several sides twenty; all else stands behind ``-v``."""

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
from deviate.report.topics.comparison_answer import several_headline
from deviate.report.topics.plan import plan_page
from deviate.report.writers.terminal import render_terminal

WIDTHS = pytest.mark.parametrize("width", [80, 120])

#: Lines of a report: the number or the table of what varied, what failed, and what to type next.
REPORT = 20

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
    lines = lines_of(cases.render_screen(cases.document(values, runs=runs), width), width, REPORT)
    assert sum("[" in line for line in lines) >= len(SOURCES), "no variant is left out"


@WIDTHS
def test_a_ranking_beside_a_warning(width):
    lines_of(cases.render_screen(cases.sources(), width), width, REPORT)


@WIDTHS
@pytest.mark.parametrize(
    ("asked", "rungs"),
    [
        ({}, 3),
        ({"difference": 0.5}, 3),
        ({"difference": 0.5, "runs": 12}, 4),
        ({"difference": 0.5, "precision": 0.1}, 3),
        ({"difference": 0.5, "precision": 0.1, "sd_ratio": 2.0}, 3),
    ],
)
def test_a_plan_that_answers_questions(width, asked, rungs):
    plan = make_plan(PlanOptions(sd=0.4, **asked), None, "deviate plan")
    lines = lines_of(render_terminal(plan_page(plan, "screen"), width), width)
    assert sum("±" in line and " runs " not in line for line in lines) == rungs
    assert sum(" runs " in line for line in lines) == sum(name != "runs" for name in asked)
    assert any("SD ratio" in line for line in lines) == ("sd_ratio" in asked)


LONG = [f"{net}-with-a-learning-rate-of-{rate}" for net in ("perceptron", "convolution") for rate in (0.1, 0.02)]


def compared(*seeds, names=LONG):
    sides = [
        page_cases.side(name, page_cases.sides(seed=seed)[0].samples) for name, seed in zip(names, seeds, strict=True)
    ]
    return compare_sides(sides, ComparisonOptions(), f"deviate compare {' '.join(names)}")


@WIDTHS
@pytest.mark.parametrize("names", [LONG, [f"digits@lr=0.{rate},batch_size=32" for rate in range(1, 5)]])
def test_four_experiments_with_long_names(width, names):
    text = render_terminal(comparison_page(compared(1, 2, 3, 4, names=names), "screen"), width)
    lines = lines_of(text, width, 20)
    shown = [name.removeprefix("digits@").removesuffix(",batch_size=32").replace("=", " ") for name in names]
    rows = rows_of(lines)
    # A name that is too long for one line goes on below.
    assert all(line.startswith(name[: len(name) // 2]) for line, name in zip(rows, shown, strict=True))


def rows_of(lines):
    """The rows of the table below the answer."""
    rule = next(number for number, line in enumerate(lines) if line.startswith("──"))
    return [line for line in lines[rule + 1 :] if "±" in line]


SIX = ["base", "wide", "deep", "wide-deep", "slow", "fast"]


@WIDTHS
@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (SIX, 6),
        ([f"digits@lr=0.{rate},batch_size={size}" for rate in ("1", "03", "01") for size in (32, 128)], 6),
        ([f"digits@learning_rate=0.{rate},batch_size=32,weight_decay=0.0001" for rate in range(1, 7)], 6),
        ([f"{name}-{size}" for name in SIX for size in (32, 64)], 12),
        ([f"{name}-{size}" for name in SIX for size in (32, 64, 128)][:14], 12),
    ],
)
def test_many_experiments(width, names, rows):
    comparison = compared(*range(len(names)), names=names)
    text = render_terminal(comparison_page(comparison, "screen"), width)
    lines = lines_of(text, width, 20)
    assert len(rows_of(lines)) == rows
    assert (f"{len(names) - rows} more experiments:" in text) == (rows < len(names))


def test_the_differences_are_those_from_the_first_row():
    comparison = compared(1, 2, 3, 4)
    _, table, *_ = (section.blocks[0] for section in comparison_page(comparison, "screen").sections)
    first, *rows = table.rows
    heads = [column.head for column in table.columns]
    mean, less = heads.index("mean ± SD"), heads.index("less first\n[95% CI]")
    assert first.cells[0].text == LONG[0]
    assert first.cells[less].text == ""
    for row in rows:
        difference = row.cells[mean].value - first.cells[mean].value
        assert row.cells[less].value == pytest.approx(difference)
        a, b = (float(end) for end in row.cells[less].text.replace("−", "-").split("[")[1].removesuffix("]").split(","))
        assert a < difference < b


def shifted(*shifts, sds=(0.3,) * 6):
    rng = np.random.default_rng(1)
    sides = [
        page_cases.side(name, [side_metric("test acc", 90 + shift + sd * rng.standard_normal(8))])
        for name, shift, sd in zip("abcdef", shifts, sds, strict=False)
    ]
    return several_headline(compare_sides(sides, ComparisonOptions(), "deviate compare a b c d"))


def test_which_of_several_is_best_and_which_are_not_shown_to_differ():
    same = shifted(0, 0, 0, 0)
    assert same.startswith("No difference shown between any of the 4: best mean ")
    assert shifted(0, 2, 0).startswith("Best: b, test acc 92.")
    assert shifted(0, 2, 0).endswith("a and c are not shown to differ.") or shifted(0, 2, 0).endswith(
        "c and a are not shown to differ."
    )
    assert shifted(0, 2, 4, 0).endswith(" Among the others one of two is better in 2 of 3 pairs.")
    undecided = shifted(0, 0.3, -1, sds=(0.3, 4, 0.3))
    assert undecided.endswith(" c is worse.")
    assert " are not shown to differ, best mean " in undecided
    tied = shifted(4, 4, 0, 0)
    assert " are not shown to differ, best mean " in tied
    assert tied.endswith(" are worse, and not shown to differ from each other.")
    assert shifted(9, 0, 0, 0, 0, 0).startswith("Best: a, ")
    assert shifted(9, 0, 0, 0, 0, 0).endswith(" 5 others are not shown to differ.")


@WIDTHS
@pytest.mark.parametrize("explained", [True, False])
def test_an_audit_with_everything_to_say(width, explained):
    audit = further_pages.audit()
    lines = [structs.replace(audit.explanation.lines[0], line=number, order=number) for number in range(1, 20)]
    explanation = structs.replace(audit.explanation, lines=lines, first_difference=11) if explained else None
    audit = structs.replace(audit, explanation=explanation)
    shown = lines_of(render_terminal(audit_page(audit, "screen"), width), width, most=20)
    assert shown[0].startswith("Runs differ as they are: initialisation and augmentation vary.")
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


@WIDTHS
def test_failures_beside_predictions(width):
    facts = further_pages.predictions().facts
    first = facts.variants[0].metrics[0]
    four = [
        structs.replace(first, name=name, values=[value + place for value in first.values])
        for place, name in enumerate(("top1", "top5", "val", "train", "ema"))
    ]
    reason = "it ended with status 1: RuntimeError: the loss of the batch is not a finite number"
    runs = [structs.replace(run, status="failed", reason=reason) for run in facts.variants[0].runs[:3]]
    variant = structs.replace(facts.variants[0], metrics=four, runs=[*runs, *facts.variants[0].runs[3:]])
    document = cases.Document(structs.replace(facts, variants=[variant]))
    lines = lines_of(cases.render_screen(document, width), width, REPORT)
    assert any("two runs differ on" in line for line in lines)
    assert any("deviate logs" in line for line in lines)
    names = [line.split()[0] for line in lines if line.split()[0] in ("top1", "top5", "val", "train", "ema")]
    assert names == ["val", "top1", "top5", "train", "ema"]
