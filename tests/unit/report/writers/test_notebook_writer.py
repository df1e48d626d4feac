"""A page in a notebook: plain HTML, and charts by their names."""

import re

import block_pages as pages
import pytest
from html_outline import Outline

from deviate.report.page import Cell, Hint, Page, Row, Section
from deviate.report.writers.notebook import ROWS_SHOWN, Figures, render_notebook


@pytest.mark.parametrize("text", ["", pages.HOSTILE, pages.LONG])
def test_it_is_plain_html(text):
    outline = Outline(render_notebook(pages.page(text)))
    assert outline.open == []
    assert {tag for tag, _ in outline.elements} <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert not any(attributes for _, attributes in outline.elements)
    # Without the column of what is drawn with characters.
    assert {len(row) for row in outline.tables[0]} == {7}
    assert "••··•●••" not in outline.text


def test_long_tables_are_counted():
    rows = [Row(cells=[Cell(f"m{index}"), *[Cell("1")] * 7]) for index in range(ROWS_SHOWN + 3)]
    page = Page(title="x", reader="brief", sections=[Section(slug="x", blocks=[pages.metrics(rows=rows)])])
    outline = Outline(render_notebook(page))
    assert len(outline.tables[0]) == 1 + ROWS_SHOWN
    assert "and 3 more metrics" in outline.text


def test_remarks_are_counted_with_the_command_that_shows_them():
    text = Outline(render_notebook(pages.page())).text
    assert re.search(r"1 warning and \d notes?: deviate report digits", text)


def test_metrics_that_a_page_leaves_out_are_counted():
    more = Hint(text="and 5 more metrics; all of them:", command="deviate report digits --format md")
    page = Page(title="x", reader="brief", sections=[Section(slug="x", blocks=[pages.metrics(more=more)])])
    assert "and 5 more metrics; all of them: deviate report digits --format md" in Outline(render_notebook(page)).text


def test_figures_are_charts_by_slug():
    figures = Figures([pages.figure()])
    assert list(figures) == ["distribution-acc"]
    assert figures["distribution-acc"].to_dict()["title"] == ["acc of each run"]
    assert figures.describe("distribution-acc") == "2 runs."
    assert repr(figures) == "<1 figure: distribution-acc>"
    with pytest.raises(KeyError):
        figures["nothing"]
