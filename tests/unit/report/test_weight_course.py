"""How far weights lie apart over the iterations: drawn, and written as a table."""

import io
import re

import numpy as np
import pandas as pd
import pytest
import report_cases as cases
from msgspec import structs

from deviate.facts.weights import RunWeights
from deviate.report.topics.curves import experiment_figures
from deviate.report.topics.experiment import experiment_page
from deviate.report.writers.html import render_html
from deviate.report.writers.markdown import render_markdown
from deviate.report.writers.tables_csv import weights_csv


def facts(moments):
    """The facts of three runs whose weights, after each moment, point by these angles from run to run."""
    runs = {
        f"algo+impl-{run}": RunWeights(
            layers={"net": np.array([np.cos(run), np.sin(run)]), "head": np.ones(3)},
            moments={
                after: {"net": np.array([np.cos(run * angle), np.sin(run * angle)])} for after, angle in moments.items()
            },
        )
        for run in range(3)
    }
    plain = cases.results({"algo+impl": {"test acc": [0.9, 0.91, 0.92]}})
    return cases.said(structs.replace(plain, weights={"algo+impl": runs})).facts


def chord(angle):
    """Return the mean distance of three unit vectors that lie by an angle apart from each to the next."""
    return (2 * 2 * np.sin(angle / 2) + 2 * np.sin(angle)) / 3


def drawn(facts):
    return [each for each in experiment_figures(facts) if each.section == "weights"]


def test_the_distance_over_the_iterations_is_drawn_where_it_was_kept():
    known = facts({1: 0.1, 3: 0.2, 5: 0.4})
    (figure,) = drawn(known)
    points = figure.spec["datasets"]["points"]
    assert [point["at"] for point in points] == [1, 3, 5]
    assert [point["value"] for point in points] == pytest.approx([chord(angle) for angle in (0.1, 0.2, 0.4)])
    assert all(point["low"] < point["value"] < point["high"] for point in points)
    assert figure.title in render_html(experiment_page(known, "full"))


@pytest.mark.parametrize("moments", [{}, {4: 0.3}, {1: 0.0, 3: 0.0}, {"a.pt": 0.1, "b.pt": 0.2}])
def test_one_moment_equal_weights_and_files_make_no_curve(moments):
    assert not drawn(facts(moments))


def test_a_distance_has_the_digits_of_its_interval():
    rows = render_markdown(experiment_page(facts({1: 0.001, 3: 0.2}), "full")).splitlines()
    cells = [re.findall(r"\d+\.(\d+)", row.partition("iteration")[2]) for row in rows if row.startswith("| iteration ")]
    assert [len(row) for row in cells] == [2, 2]  # The intervals begin at 0.
    assert all(len({len(decimals) for decimals in row}) == 1 for row in cells)


def test_the_table_has_a_row_for_each_moment_then_for_the_whole_and_each_layer():
    table = pd.read_csv(io.StringIO(weights_csv(facts({1: 0.1, 3: 0.2}))))
    assert table["iteration"].tolist()[:2] == [1, 3]
    assert table["layer"].isna().tolist()[:3] == [True] * 3
    assert table["layer"].tolist()[3:] == ["net", "head"]
    assert table["distance"].iloc[:2].tolist() == pytest.approx([chord(0.1), chord(0.2)])
    assert table["distance"].iloc[3:].tolist() == pytest.approx([chord(1.0), 0.0])
    assert table["elements"].tolist()[2:] == [5, 2, 3]
    assert set(table["level"]) == {0.95}


def test_files_are_named_and_without_weights_there_is_a_head_alone():
    table = pd.read_csv(io.StringIO(weights_csv(facts({"a.pt": 0.1, "b.pt": 0.2}))))
    assert table["file"].tolist()[:2] == ["a.pt", "b.pt"]
    assert table["iteration"].isna().all()
    empty = weights_csv(cases.said(cases.results({"algo+impl": {"test acc": [0.9, 0.91]}})).facts)
    assert empty == "experiment,variant,iteration,file,layer,elements,distance,ci_low,ci_high,level\n"


def test_what_distances_mean_is_said_once_and_folds_are_named_after_their_variant():
    shared = facts({}).weights[0]
    usual = cases.document({"algo": {"test acc": [0.9, 0.91]}, "init": {"test acc": [0.9, 0.92]}}).facts
    known = structs.replace(usual, weights=[structs.replace(shared, variant=each) for each in ("algo", "init")])
    page = render_html(experiment_page(known, "full"))
    assert page.count("1.41: unrelated directions") == 1
    assert [page.count(f"<summary>Layers of {name}") for name in ("training", "initialisation")] == [1, 1]
