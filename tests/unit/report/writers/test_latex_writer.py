"""A page as LaTeX: whole environments, escaped text, tables that fit a page; and what pdflatex says."""

import re

import block_pages as pages
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdflatex import compile_paper, needs_pdflatex

from deviate.report.page import Cell, Column, Facts, Page, Row, Section, Sentences, Table
from deviate.report.writers.latex import ROWS, render_latex


def shown(*blocks):
    return render_latex(Page(title="", reader="paper", sections=[Section(slug="x", blocks=list(blocks))]))


def assert_whole(text):
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    open_now = []
    for begins, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", "\n".join(lines)):
        if begins == "begin":
            open_now.append(name)
        else:
            assert open_now.pop() == name
    assert open_now == []
    bare = re.sub(r"\\[{}\\]", "", "\n".join(lines))
    assert bare.count("{") == bare.count("}")
    # What follows a row's end must not look like its optional argument.
    assert not re.search(r"(\\\\|rule|\\item)\s*[\[*](?!\{)", "\n".join(lines))


@pytest.mark.parametrize("text", ["", pages.HOSTILE, pages.LONG, "[x]", "*"])
def test_environments_and_groups_are_closed(text):
    assert_whole(render_latex(pages.page(text)))


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_text_is_text(text):
    page = shown(pages.metrics(text), Sentences(about=text, sentences=[text]), Facts(pairs=[(text, text)]))
    assert_whole(page)
    row = next(line for line in page.splitlines() if "0.34--1.05 & 96.10" in line)
    assert row.endswith(r" & 98 \\")
    assert len(re.findall(r"(?<!\\)&", row)) == 7


def long(rows):
    columns = [Column(head="what", numeric=False), Column(head="n")]
    cells = [Row(cells=[Cell(f"v{row}"), Cell("1")]) for row in range(rows)]
    return Table(caption="caption", slug="label", columns=columns, rows=cells)


def bodies(text):
    return [part.split(r"\bottomrule")[0] for part in text.split(r"\midrule")[1:]]


def test_rows_beyond_a_table_stand_in_further_ones():
    tables = bodies(shown(long(2 * ROWS + 1)))
    assert [table.count(r"\\") for table in tables] == [ROWS, ROWS, 1]


def test_captions_and_labels_tell_the_parts_apart():
    text = shown(long(2 * ROWS + 1))
    assert [rf"\caption{{caption ({part} of 3)}}" in text for part in (1, 2, 3)] == [True] * 3
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:label", "tab:label-2", "tab:label-3"]


def test_symbols_numbers_and_text_are_set_as_such():
    text = shown(pages.metrics(), pages.factors())
    assert "metric & $n$ & mean" in text
    assert r"\quad init & $-0.0031$" in text
    assert r"test acc (best) & 8 & 96.94 & 0.52 & 0.34--1.05" in text
    assert r"has \texttt{a\_b} and $p<1.5\times10^{-7}$" in shown(Sentences(sentences=["It has `a_b` and p < 1.5e-7."]))


def test_text_in_a_column_of_numbers_is_escaped():
    columns = [Column(head="metric", numeric=False), Column(head="value")]
    table = Table(caption="", columns=columns, rows=[Row(cells=[Cell("a"), Cell(r"\input{x} & 1_2")])])
    assert r"a & \textbackslash{}input\{x\} \& 1\_2 \\" in shown(table)


def test_paragraphs_and_lists_have_their_titles():
    text = shown(Sentences(about="Methods", sentences=["A.", "B."]), pages.checklist())
    assert "\\paragraph{Methods.}\n{\\sloppy\nA.\nB.\n\\par}" in text
    assert "\\paragraph{Checklist.}\n\\begin{itemize}\\sloppy\n  \\item \\emph{Is there code?} Yes: " in text


def test_figures_are_lines_to_be_cut_out():
    lines = render_latex(pages.page()).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("% Figures"))
    assert "as `deviate report digits --set figures=figures` writes them" in lines[start]
    commented = lines[start : lines.index("", start)]
    assert all(line.startswith("%") for line in commented)
    assert r"%   \includegraphics[width=\columnwidth]{figures/distribution-acc.pdf}" in commented
    assert sum(r"\caption" in line for line in commented) == 2


@needs_pdflatex
def test_pdflatex_takes_all_of_it(tmp_path):
    texts = ["", pages.HOSTILE, pages.LONG, "[x]", "*", "точ"]
    many = msgspec.structs.replace(pages.page(), sections=[Section(slug="x", blocks=[long(2 * ROWS + 1)])])
    assert compile_paper(tmp_path, *map(render_latex, [*map(pages.page, texts), many])) > 10_000
