"""Pages on terminals of every width, with and without colour and Unicode."""

import io
import re

import block_pages as pages
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from deviate.report.page import (
    Cell,
    Column,
    Facts,
    Fold,
    Hint,
    Page,
    Remark,
    Remarks,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.writers.console import WIDEST_TEXT
from deviate.report.writers.terminal import print_page, render_terminal

WIDTHS = pytest.mark.parametrize("width", [40, 80, 120])
TEXTS = pytest.mark.parametrize("text", ["", pages.HOSTILE, pages.LONG, "验证准确率 " * 8, "e\u0301" * 30])


def shown(*blocks, width=80, title=""):
    return render_terminal(
        Page(title="", reader="brief", sections=[Section(slug="x", title=title, blocks=list(blocks))]), width
    )


def printed(page, **console):
    stream = io.StringIO()
    print_page(page, Console(file=stream, _environ={}, **console))
    return stream.getvalue()


@WIDTHS
@TEXTS
def test_no_line_is_wider_than_the_terminal(width, text):
    lines = render_terminal(pages.page(text), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert not [line for line in lines if line.endswith(" ")]


@given(st.text(max_size=80))
@settings(max_examples=60, deadline=None)
def test_no_text_moves_the_cursor_or_leaves_its_line(text):
    lines = render_terminal(Page(title=text, reader="brief", sections=[Section(slug="x", blocks=pages.blocks(text))]))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lines)
    assert max(map(cell_len, lines.splitlines())) <= 100


@WIDTHS
@TEXTS
def test_a_terminal_without_unicode_gets_ascii_of_its_width(width, text):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict", newline="")
    print_page(pages.page(text), Console(file=stream, width=width, _environ={}))
    stream.flush()
    lines = raw.getvalue().decode("ascii").splitlines()
    assert max(map(len, lines)) <= width


def test_in_ascii_every_sign_of_a_table_keeps_its_column():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict", newline="")
    page = pages.page()
    print_page(page, Console(file=stream, width=80, _environ={}))
    stream.flush()
    ascii_only = raw.getvalue().decode("ascii").splitlines()
    assert list(map(len, ascii_only)) == list(map(cell_len, render_terminal(page, 80).splitlines()))
    assert "test acc best  8  96.94  0.52     0.34-1.05  96.10  oo..OoO..o   98" in ascii_only
    assert any("_+%#" in line for line in ascii_only)
    assert "x test acc failed after 1.2 s" in ascii_only


def test_colours_are_for_terminals_alone():
    coloured = printed(pages.page(pages.HOSTILE), force_terminal=True, color_system="standard", width=80)
    assert "\x1b[36m" in coloured
    assert "\x1b[31mz" not in coloured
    assert "\x1b[" not in printed(pages.page(pages.HOSTILE), width=80)


def test_without_colours_nothing_is_lost():
    coloured = printed(pages.page(), force_terminal=True, color_system="standard", width=80)
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == printed(pages.page(), width=80).splitlines()


def test_columns_are_given_up_by_how_little_they_matter():
    heads = {}
    for width in (40, 60, 80):
        line = next(line for line in shown(pages.metrics(), width=width).splitlines() if line.startswith("metric"))
        heads[width] = re.split(r"\s{2,}", line)
    assert heads[80] == ["metric", "n", "mean", "SD", "95% CI of SD", "min", "runs", "max"]
    # Alone, the strip says where its ends are.
    assert heads[60] == ["metric", "mean", "SD", "95% CI of SD", "min", "max"]
    assert heads[40] == ["metric", "mean", "SD", "min", "max"]


def pair(a="0.5 ± 0.1", brief="0.5", name="acc"):
    columns = [Column(head="metric", numeric=False), Column(head="A", sacrifice=1), Column(head="p")]
    return Table(
        caption="A against B",
        columns=columns,
        rows=[Row(cells=[Cell(name), Cell(a, 0.5, brief=brief), Cell("0.03", 0.03)])],
    )


def test_a_shorter_text_is_used_before_a_column_is_given_up():
    assert "0.5 ± 0.1" in shown(pair(), width=30)
    narrow = shown(pair(), width=20)
    assert "±" not in narrow
    assert re.search(r"acc +0\.5  0\.03", narrow)


def test_tables_below_each_other_have_the_same_columns():
    wide = pair("0.123456789 ± 0.123456789", brief="0.123456789 or so")
    text = shown(pair(), wide, width=30)
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("acc")] == ["0.03", "0.03"]
    assert "A" not in text
    assert " A " in shown(pair(), Sentences(sentences=["Between them."]), wide, width=30)


def test_notes_on_a_row_stand_below_it_and_columns_keep_their_places():
    lines = shown(pages.audit()).splitlines()
    assert lines[2:] == [
        "init     pinned         2",
        "         by `seed(0)` at a.py:3",
        "shuffle  varies         2",
    ]


def test_parts_of_a_row_are_indented():
    lines = shown(pages.factors()).splitlines()
    assert lines[2:5] == ["algo+impl       0.46   ≠", "  init       −0.0031   ≈!", "control        0.086   ="]
    assert lines[-3:] == [
        "and 3 more metrics; all of them: deviate report x --format md",
        "shuffle brings the largest SD.",
        "= same in all runs, ≠ differs",
    ]


def test_what_belongs_to_a_title_is_indented():
    fold = Fold(title="a-1", remark="failed", emphasis="bad", blocks=[Sentences(sentences=["why " * 60])])
    lines = shown(fold, width=150).splitlines()
    assert lines[0] == "✗ a-1 failed"
    assert all(line.startswith("  why") for line in lines[1:])
    assert max(map(len, lines)) <= WIDEST_TEXT


def test_sentences_are_narrow_and_tables_are_not():
    text = shown(Sentences(sentences=["word " * 100]), pages.metrics(pages.LONG), width=140)
    paragraph, table = text.split("\n\n")
    assert max(map(len, paragraph.splitlines())) <= WIDEST_TEXT
    assert pages.LONG in table.splitlines()[2]


def test_a_section_has_its_title_only_where_it_has_content():
    assert shown(title="In short") == ""
    assert shown(Sentences(sentences=["Yes."]), title="In short") == "In short\n\nYes.\n"


def test_heads_keep_their_line_breaks():
    table = Table(
        caption="", columns=[Column(head="runs\na side"), Column(head="b")], rows=[Row(cells=[Cell("3")] * 2)]
    )
    assert shown(table).splitlines()[:2] == ["  runs", "a side  b"]


def test_a_name_too_long_with_its_small_print_has_one_line_where_columns_go_on():
    columns = [Column(head="metric", numeric=False), *(Column(head=f"column {n}", sacrifice=9 - n) for n in range(9))]
    row = Row(cells=[Cell("time per iteration (s)", remark="median"), *(Cell(f"{n}.0", n) for n in range(9))])
    lines = shown(Table(caption="x", continued=True, columns=columns, rows=[row]), width=78).splitlines()
    assert sum(line.startswith("time per iteration (s)") for line in lines) == 2
    # The small print stands where there is room for it.
    assert any("time per iteration (s)   " in line for line in lines)
    assert "time per iteration (s) median   " in lines[-1]


def test_columns_go_on_below_where_none_may_be_left_out():
    columns = [Column(head="metric", numeric=False), *(Column(head=f"column {n}", sacrifice=9 - n) for n in range(9))]
    row = Row(cells=[Cell("acc"), *(Cell(f"{n}.0", n) for n in range(9))])
    lines = shown(Table(caption="x", continued=True, columns=columns, rows=[row])).splitlines()
    heads = [head for line in lines if line.startswith("metric") for head in re.split(r"\s{2,}", line)[1:]]
    assert sorted(heads) == [f"column {n}" for n in range(9)]
    assert sum(line.startswith("acc") for line in lines) == 2


#: Two pieces on either side of each blank that no line may break at.
QUANTITIES = (
    "4 runs of 2.7 s; test acc 85.6 ± 3.3 (p = 0.03, 95% CI 0.52 to 6.28, at most 16 GiB, 5 ≥ 3.5, mean ± SD, "
    "30 days). "
    "That is −0.82 to −0.14 or 2.7 points, p < 0.05."
)
BROKEN = re.compile(r"(\d\n(s|GiB|days|points)\b)|±\n|\n±|[=<≥]\n|\n[=<≥]|\nto|to\n[−\d]|CI\n|\nCI")


@pytest.mark.parametrize("width", range(24, 100, 3))
@pytest.mark.parametrize("signs", ["unicode", "ascii"])
def test_no_line_breaks_within_a_quantity(width, signs):
    blocks = [
        Sentences(sentences=[QUANTITIES], about="SD"),
        Remarks(remarks=[Remark(message=QUANTITIES)]),
        Facts(pairs=[("it", QUANTITIES)]),
    ]
    page = Page(title="", reader="brief", sections=[Section(slug="x", blocks=blocks)])
    if signs == "ascii":
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding="ascii", newline="")
        print_page(page, Console(file=stream, width=width, _environ={}))
        stream.flush()
        text = raw.getvalue().decode().replace("+-", "±").replace(">=", "≥").replace("\n  ", "\n").replace("-", "−")
    else:
        text = render_terminal(page, width)
    lines = "\n".join(line.strip() for line in text.splitlines())
    assert not BROKEN.search(lines)
    # What is copied has plain blanks.
    assert text.isascii() or set(text) - set(QUANTITIES) <= set("SD:! it\n")
    assert " ".join(text.split()).count("2.7 s") == len(blocks)


def test_a_command_that_does_not_fit_behind_its_text_has_a_line_of_its_own():
    hint = Hint(text="all sources:", command="deviate audit -v -- python train.py")
    assert shown(hint, width=80) == "all sources: deviate audit -v -- python train.py\n"
    assert shown(hint, width=40) == "all sources:\n  deviate audit -v -- python train.py\n"


def test_a_column_of_short_names_is_as_narrow_as_they_are():
    columns = [Column(head="", numeric=False), Column(head="line", numeric=False)]
    text = shown(Table(caption="", columns=columns, rows=[Row(cells=[Cell("1"), Cell("train.py:14")])]))
    assert text.splitlines()[-1] == "1  train.py:14"
