"""What a page owes before a browser has seen it: whole, closed in itself, readable without scripts."""

import base64
import hashlib
import json
import re

import page_cases as pages
import pytest
import report_cases as cases
from compared_sides import sides
from html_outline import assert_whole

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.experiment import SECTIONS, experiment_page, plain_facts
from deviate.report.topics.headline import screen_headline
from deviate.report.topics.proof import evidence_sentences
from deviate.report.writers.html import embeddable, packed
from deviate.report.writers.markdown import render_markdown

EVERY_KIND = pytest.mark.parametrize("kind", pages.KINDS)
REPORTS = pytest.mark.parametrize("kind", pages.REPORTS)
COMPARISONS = pytest.mark.parametrize("kind", [kind for kind in pages.KINDS if "comparison" in kind])

#: What a cell of a Markdown table shows as a number or an interval.
NUMERIC = re.compile(r"−?\d[\d.e%-]*(?:(?:–| to | ± |, )−?\d[\d.e%-]*)?")


def markdown_rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def plain(cell):
    return re.sub(r"\\(.)", r"\1", cell)


@REPORTS
def test_every_row_of_the_markdown_tables_stands_in_a_table_of_the_page(kind):
    found = [[cell.strip() for cell in row] for table in pages.outline_of(kind).tables for row in table]
    numbers = [[cell for cell in row if NUMERIC.fullmatch(cell)] for row in found]
    for row in markdown_rows(cases.render_markdown(pages.said(kind))):
        wanted = [plain(cell) for cell in row if NUMERIC.fullmatch(plain(cell))]
        assert not wanted or wanted in numbers, row


@COMPARISONS
def test_every_row_of_the_markdown_tables_of_a_comparison_stands_in_the_page(kind):
    found = [{cell.strip() for cell in row} for table in pages.outline_of(kind).tables for row in table]
    for row in markdown_rows(render_markdown(pages.full_page(pages.said(kind)))):
        cells = {plain(cell) for cell in row}
        assert any(cells <= whole for whole in found), row


@REPORTS
def test_the_page_says_all_sentences_of_the_document(kind):
    document, text = pages.said(kind), pages.outline_of(kind).text
    facts = plain_facts(document.facts)
    # A table says of several variants what a headline says of one.
    said = screen_headline(facts.variants[0]) if len(facts.variants) == 1 else []
    said += [warned.message for warned in experiment_caveats(facts)]
    said += [sentence for variant in facts.variants for sentence in evidence_sentences(variant)]
    said += [sentence for variant in document.variants for sentence in variant.footnotes]
    said += [line for variant in document.variants for run in variant.runs for line in run.stderr_tail[-1:]]
    said += [document.reproduce.command, *document.across_notes]
    for sentence in said:
        words = re.sub(r"\x1b\[\d*m|.*\r|`", "", sentence).split()
        assert " ".join(words) in re.sub(r" (?=[.,:;])", "", text).replace("  ", " "), sentence


@EVERY_KIND
def test_the_page_is_whole(kind):
    assert_whole(pages.outline_of(kind))


def test_a_page_of_eight_runs_is_below_a_megabyte():
    assert max(len(pages.page_of(kind).encode()) for kind in ("one variant", "predictions")) < 1_000_000


@EVERY_KIND
def test_every_figure_has_a_name_words_and_data(kind):
    outline = pages.outline_of(kind)
    charts = [each for each in outline.of("div") if each.get("class") == "chart"]
    data = {attributes["id"]: text for attributes, text in outline.scripts if attributes.get("type")}
    assert len(outline.of("figure")) == len(outline.of("figcaption")) == len(charts)
    for chart in charts:
        assert chart["role"] == "img"
        assert chart["aria-label"]
        spec = json.loads(data[f"{chart['id']}-data"])
        assert spec["datasets"]
        assert spec["width"] == "container"


@EVERY_KIND
def test_the_page_names_nothing_outside_itself_and_runs_only_its_own_scripts(kind):
    outline = pages.outline_of(kind)
    for name in ("src", "srcset", "action", "formaction", "style", "onclick", "onerror", "onload"):
        assert outline.attributes(name) == []
    assert all(link.startswith(("#", "data:,")) for link in outline.attributes("href"))
    policy = next(each["content"] for each in outline.of("meta") if each.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    running = [text for attributes, text in outline.scripts if "type" not in attributes]
    for script in running:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert "sourceMappingURL" not in script


@pytest.mark.parametrize("kind", ["arms and sources", "failures and NaN", "comparison of three"])
def test_text_of_users_is_never_markup(kind):
    html = pages.page(pages.hostile(pages.said(kind)))
    usual, attacked = pages.outline_of(kind), pages.Outline(html)
    assert {tag for tag, _ in attacked.elements} <= {tag for tag, _ in usual.elements} | {"code", "small", "aside"}
    assert {name for _, found in attacked.elements for name in found} <= {n for _, each in usual.elements for n in each}
    # The times of runs are no times any more, so that a figure of them may be missing.
    assert len(attacked.scripts) <= len(usual.scripts)
    assert attacked.text.count("<script>window.hacked=1</script>") > 50
    assert attacked.text.count("{{7*7}}") > 50
    assert not re.search("[\u2028\u202e\x00]", html)


def test_a_comparison_escapes_as_well():
    compared = compare_sides(sides(labels=("a</script><script>1", "b<!--")), ComparisonOptions(), "deviate compare")
    html = pages.page(compared)
    assert "</script><script>1" not in html
    assert "b<!--" not in html


@pytest.mark.parametrize(
    ("kind", "unseen"),
    [("plan", ["What numbers of runs can show"]), ("one variant", ["Reproducibility checklist", "Every run"])],
)
def test_a_caption_that_repeats_its_heading_is_not_seen(kind, unseen):
    html = pages.page_of(kind)
    assert re.findall(r"<caption class=\"unseen\">([^<]*)</caption>", html) == unseen
    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>|<summary>([^<]*)</summary>", html)
    assert all(any(text in each for each in headings) for text in unseen)


@EVERY_KIND
def test_the_answer_stands_before_the_links_and_has_no_metric_to_choose_above_it(kind):
    html = pages.page_of(kind)
    first, _, below = html.partition('<nav class="contents"')
    assert 'class="answer' in first
    assert "<select" not in html
    assert first.find('class="metrics"') == -1 or first.find('class="metrics"') > first.find('class="answer')
    assert not re.findall("<h2[^>]*-title", first)
    assert all(f'href="#{slug}"' in below for slug in re.findall(r'<h2 id="([\w-]+)-title"', below))


def test_seeds_of_many_factors_stand_in_a_table_of_their_own():
    tables = [[cell.strip() for cell in table[0]] for table in pages.outline_of("one variant").tables]
    assert ["run", "ended", "time", "CPU time", "peak memory", "threads"] in tables
    assert ["run", *pages.SEEDED] in tables


def test_sections_with_nothing_to_show_are_left_out():
    outline = pages.outline_of("not started")
    shown = {attributes["id"] for attributes in outline.of("section")}
    assert shown.isdisjoint({"metrics", "each", "predictions"})
    assert shown >= {"answer", "varied", "made"}
    links = {link.removeprefix("#") for link in outline.attributes("href") if link.startswith("#")}
    assert shown - {"answer", "trust"} == links - {"content"}


@pytest.mark.parametrize("kind", ["arms and sources", "none completed"])
@pytest.mark.parametrize("reader", SECTIONS)
def test_every_section_knows_what_it_is(kind, reader):
    sections = experiment_page(pages.said(kind).facts, reader).sections
    assert sections
    for section in sections:
        assert re.fullmatch("[a-z]+", section.slug)
        assert section.title or reader != "full" or section.slug in ("trust", "answer")
        assert section.blocks


def test_embedded_data_are_ascii_and_the_same_when_read():
    value = {"name": pages.ATTACK, "lone": "\udc80", "values": [0.1, None, 1e-300]}
    text = str(embeddable(value))
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == value


def test_rows_become_columns_and_unknown_numbers_null():
    rows = [{"run": "a", "v": float("inf")}, {"run": "b", "v": 2.0, "more": "x"}]
    found = packed(rows)
    assert found["rows"] == 2
    assert found["columns"]["run"] == {"levels": ["a", "b"], "codes": [0, 1]}
    assert found["columns"]["v"] == [None, 2.0]
    assert found["columns"]["more"] == [None, "x"]
