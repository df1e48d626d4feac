"""A page as HTML: whole, closed in itself, readable without scripts, and made of nothing but its own markup."""

import base64
import gzip
import hashlib
import json

import block_pages as pages
import pytest
from html_outline import Outline, assert_whole
from hypothesis import given, settings
from hypothesis import strategies as st

from deviate.report.page import Answer, ByMetric, Cell, KeyFigure, Latex, Page, Panel, Row, Section, Sentences
from deviate.report.writers.html import render_html


def outline(*blocks, title="Part"):
    section = Section(slug="part", title=title, blocks=list(blocks))
    return Outline(render_html(Page(title="x", reader="full", sections=[section])))


@pytest.fixture(scope="module")
def full():
    return Outline(render_html(pages.page()))


@pytest.mark.parametrize("text", ["", pages.HOSTILE], ids=["usual", "hostile"])
def test_the_page_is_whole(text):
    assert_whole(Outline(render_html(pages.page(text))))


def test_headings_within_a_section_follow_its_own():
    assert {tag for tag, _ in outline(Answer(about="a", sentences=["b"]), title="").elements} >= {"h1", "h2"}
    assert "h3" in {tag for tag, _ in outline(Answer(about="a", sentences=["b"])).elements}


def test_the_key_figure_has_its_runs_beside_it_and_what_is_done_is_a_bar(full):
    assert "96.94 ± 0.52" in full.text
    key = KeyFigure(label="acc", text="96.94")
    page = outline(Answer(sentences=["1 of 2 done."], figure=key, chart=pages.figure("dots"), done=0.5))
    assert [each["id"] for each in page.of("div") if each.get("class") == "chart"] == ["figure-dots"]
    assert page.of("progress") == [{"max": "1", "value": "0.5", "aria-label": "1 of 2 done."}]


def test_tables_are_there_as_latex_to_be_copied():
    page = outline(Latex(tables=[pages.metrics()]))
    assert r"\begin{tabular}" in page.text
    assert [each["class"] for each in page.of("pre")] == ["typed"]


def test_it_names_nothing_outside_itself_and_runs_only_its_own_scripts(full):
    for name in ("src", "srcset", "action", "formaction", "style", "onclick", "onerror", "onload"):
        assert full.attributes(name) == []
    assert all(link.startswith(("#", "data:,")) for link in full.attributes("href"))
    policy = next(each["content"] for each in full.of("meta") if each.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    running = [text for attributes, text in full.scripts if "type" not in attributes]
    assert len(running) == 1
    (library,) = [text for attributes, text in full.scripts if attributes.get("id") == "chart-library"]
    running.append(gzip.decompress(base64.b64decode(library)).decode())
    for script in running:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy


def test_text_of_users_is_never_markup(full):
    html = render_html(pages.page(pages.HOSTILE))
    attacked = Outline(html)
    assert {tag for tag, _ in attacked.elements} <= {tag for tag, _ in full.elements}
    assert {name for _, found in attacked.elements for name in found} <= {n for _, each in full.elements for n in each}
    assert len(attacked.scripts) == len(full.scripts)
    assert attacked.text.count("<script>window.hacked=1</script>") > 20
    assert attacked.text.count("{{7*7}}") > 20


@given(st.text(max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_text_is_text(text):
    page, usual = (
        outline(Sentences(about=f"b{each}", sentences=[each]), pages.metrics(each), *pages.blocks(each)[3:5])
        for each in (text, "a")
    )
    # What is between grave accents is code, and an option is kept on one line.
    tags = [[tag for tag, _ in each.elements if tag not in ("code", "span")] for each in (page, usual)]
    assert tags[0] == tags[1]


def test_figures_have_names_words_and_data(full):
    charts = [each for each in full.of("div") if each.get("class") == "chart"]
    data = {attributes["id"]: text for attributes, text in full.scripts if attributes.get("type")}
    assert len(full.of("figure")) == len(full.of("figcaption")) == len(charts) == 3
    for chart in charts:
        assert chart["role"] == "img"
        assert chart["aria-label"]
        assert json.loads(data[f"{chart['id']}-data"])["datasets"]["runs"]["rows"] == 2
    assert "themes" in data


def test_a_page_without_figures_has_no_charts():
    page = outline(Sentences(sentences=["Yes."]))
    assert len(page.scripts) == 1
    assert "need JavaScript" not in page.text


def test_sections_with_nothing_to_show_are_left_out(full):
    assert [section["id"] for section in full.of("section")] == ["again", "answer"]
    links = [link for link in full.attributes("href") if link.startswith("#")]
    assert links == ["#content", "#answer"]
    assert outline(pages.strips()).of("section") == []


def test_cells_have_the_number_that_they_are_sorted_by(full):
    cells = [attributes for tag, attributes in full.elements if tag in ("td", "th")]
    assert "0.34" in {cell.get("data-value") for cell in cells}
    unknown = pages.metrics(rows=[Row(cells=[Cell("x"), *[Cell("–", float("inf"))] * 7])])
    assert outline(unknown).attributes("data-value") == []


def test_only_tables_whose_rows_may_change_places_are_sorted():
    sortable = ["data-sortable" in outline(table).of("table")[0] for table in (pages.metrics(), pages.audit())]
    assert sortable == [True, False]
    assert outline(pages.checklist()).of("table")[0] == {"class": "prose"}


def test_of_several_metrics_one_is_chosen_by_its_name_below_the_first():
    panels = [Panel(metric=name, text="0.5", blocks=[Sentences(sentences=[f"on {name}"])]) for name in ("a", "b")]
    page = outline(ByMetric(panels=panels, first="b"), ByMetric(panels=panels))
    assert [each["data-first"] for each in page.of("div") if each.get("class") == "picked"] == ["b", "a"]
    assert [each["data-metric"] for each in page.of("div") if each.get("class") == "panel"] == ["a", "b"] * 2
    assert [each["data-metric"] for each in page.of("li") if "data-metric" in each] == ["a", "b"]
    assert page.text.index("on b") < page.text.index("b 0.5")
    assert outline(ByMetric(panels=panels[:1])).of("li")[1:] == []


def test_what_failed_is_open_and_marked(full):
    assert sum("open" in fold for fold in full.of("details")) == 1
    assert [text for tag, text in full.texts if tag == "span" and text in "✓✗"] == ["✗", "✓"]
