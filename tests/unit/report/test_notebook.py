"""What a notebook shows of experiments and comparisons."""

import re
from html.parser import HTMLParser

import pytest
import report_cases as cases
from compared_sides import sides

from deviate.report.comparison.build import build_comparison
from deviate.report.comparison.inputs import Asked
from deviate.report.figures import document_figures
from deviate.report.notebook import ROWS_SHOWN, Figures, document_html
from deviate.report.shown import Shown
from deviate.report.writers.terminal import render_terminal

ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        assert attrs == []
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def parsed(html):
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


@ALL
def test_it_is_plain_html_with_the_numbers_of_the_document(case):
    document = case()
    found = parsed(document_html(document))
    assert set(found.tags) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    for variant in document.variants:
        for metric in [metric for metric in variant.metrics if metric.n][:ROWS_SHOWN]:
            shown = Shown(metric)
            assert {shown.mean, shown.sd} <= set(found.cells)


def test_texts_of_users_are_escaped():
    document = cases.document({"algo+impl": {"<script>alert(1)</script>": [1.0, 2.0]}})
    assert "<script" not in document_html(document)
    assert "&lt;script&gt;" in document_html(document)


def test_long_tables_are_counted():
    assert re.search(r"and \d+ more metrics", document_html(cases.crowded()))


def test_a_comparison_shows_itself():
    made = build_comparison(sides(), Asked(), "deviate compare a b")
    found = parsed(made._repr_html_())
    assert "proposed better" in found.cells
    figures = made.figures()
    assert list(figures) == ["comparison-test-acc", "comparison-train-loss", "comparison-time-per-run"]


def test_without_a_notebook_a_document_is_the_report():
    document = cases.usual()
    assert repr(document) == render_terminal(document).rstrip("\n")


def test_figures_are_charts_by_slug():
    figures = Figures(document_figures(cases.usual()))
    assert "distribution-test-acc" in figures
    chart = figures["distribution-test-acc"].to_dict()
    assert chart["title"] == ["test acc (best) of each run"]
    assert chart["config"]["range"]["category"]
    assert figures.describe("distribution-test-acc").startswith("algo+impl, 8 runs: mean 96.94")
    with pytest.raises(KeyError):
        figures["nothing"]
