"""A page as Markdown: tables have their columns, and no text is markup."""

import re

import block_pages as pages
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deviate.report.page import Facts, Page, Section
from deviate.report.writers.markdown import render_markdown


def shown(*blocks):
    return render_markdown(Page(title="", reader="full", sections=[Section(slug="x", blocks=list(blocks))]))


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def table_of(text):
    return [cells(line) for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("text", ["", pages.HOSTILE, pages.LONG])
def test_every_row_has_the_columns_of_its_head(text):
    for table in (pages.metrics(f"acc{text}"), pages.factors(), pages.audit()):
        rows = table_of(shown(table))
        assert {len(row) for row in rows} == {len(table.columns)}
        assert len(rows) == 2 + len(table.rows)


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_name_is_one_cell(text):
    rows = table_of(shown(pages.metrics(text)))
    assert [len(row) for row in rows] == [8] * 4
    assert rows[2][1:6] == ["8", "96.94", "0.52", "0.34–1.05", "96.10"]


def test_numbers_are_aligned_to_the_right():
    rows = table_of(shown(pages.factors()))
    assert rows[1] == ["---", "---:", "---"]
    assert rows[2] == ["algo+impl", "0.46", "≠"]


def test_titles_are_headings_of_their_level():
    text = render_markdown(pages.page())
    headings = re.findall(r"^#+ .*$", text, re.M)
    assert headings == ["# digits", "## In short"]
    assert "✗ **test acc** failed after 1.2 s" in text
    assert "✓ **Passed**" in text


def test_text_is_escaped_and_code_is_not():
    text = render_markdown(pages.page(pages.HOSTILE))
    assert "<script" not in re.sub(r"^```text$.*?^```$|\\<|`[^`\n]*`", "", text, flags=re.M | re.S)
    assert "`deviate report x --format md`" in text
    assert "```text\ndeviate run -n 8 -- python train.py</script>" in text


def test_a_fact_without_a_name_goes_on_with_the_one_before():
    assert shown(Facts(pairs=[("Varied", "a_b"), ("", "more")])) == "- Varied: a_b\n  more\n"


def test_blocks_are_apart_and_lines_of_one_are_not():
    text = render_markdown(pages.page())
    assert "\n\n\n" not in text.replace("File\n\n```", "")
    assert "- **Warning.** test acc: Beware\n- By the way.\n" in text
    assert "- *Is there code?* Yes: `python train.py`. (NeurIPS 5)" in text
