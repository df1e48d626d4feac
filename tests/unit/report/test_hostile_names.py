"""Names with escapes, formulas, LaTeX, Markdown and HTML do nothing in any output."""

import csv
import io
import json
import re
import unicodedata

import msgspec
import numpy as np
import pytest
import report_cases as cases
from hypothesis import given
from hypothesis import strategies as st

from deviate.cli.printing import say
from deviate.report.escape import csv_cell, json_shown, markdown
from deviate.report.topics.experiment import experiment_page
from deviate.report.writers.contracts import experiment_json
from deviate.report.writers.latex import latex
from deviate.report.writers.registry import writers
from deviate.report.writers.tables_csv import csv_rows, csv_text, summary_csv

NAMES = [
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07x", "a\rb", "bell\x07", "\x9b31mC1", "\u202egnp.exe", "\u2066iso\u2069",
    "\u200f=1",     "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "=cmd|' /C calc'!A0",
    "[1] acc", "*acc", "](http://x)", "![x](y)", "<script>alert(1)</script>", "`code`", "a|b",
    "$x$", "\\input{x}", "%c", "# h", "---", "===",
]  # fmt: skip

HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def has_commands(text):
    return [each for each in text if each != "\n" and unicodedata.category(each) in HIDDEN]


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


@pytest.mark.parametrize("name", NAMES)
def test_csv_has_no_command_and_no_formula_and_numbers_stay(name):
    *_, shown, value = cells(csv_text([{"metric": name, "value": -1.5}]))
    assert not has_commands(shown)
    assert not re.match(r"\s*[=+\-@\t\r＝＋－＠]", shown)
    assert value == "-1.5"
    assert cells(csv_rows({"metric": np.array([name], object), "value": np.array([-1.5])})) == [shown, value]


@given(st.text(alphabet=st.characters()))
def test_csv_cells_never_begin_a_formula(text):
    shown = csv_cell(text)
    assert shown[:1] not in {"=", "+", "-", "@", "\t", "\r"}
    assert not has_commands(shown.replace("\u200c", "").replace("\u200d", ""))


@pytest.mark.parametrize("name", NAMES)
def test_latex_begins_no_argument_of_the_command_before(name):
    assert latex(name)[:1] not in {"[", "*"}
    assert not has_commands(latex(name))


@pytest.mark.parametrize("name", NAMES)
def test_markdown_makes_no_link_no_tag_and_no_heading(name):
    shown = markdown(name)
    assert not has_commands(shown)
    assert not re.search(r"(?<!\\)[\[\]<>|`$]", shown)
    assert not re.match(r"#\s|-{2,}$|={2,}$", shown)


@pytest.mark.parametrize("name", NAMES)
def test_json_means_the_same_and_has_no_command(name):
    text = json_shown(msgspec.json.encode({"name": name}).decode())
    assert json.loads(text) == {"name": name}
    assert not has_commands(text)


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_commands_are_clean_and_stay_one_line(name, capsys):
    say(f"metric  {name}", err=True)
    shown = capsys.readouterr().err
    assert not has_commands(shown)
    assert shown.count("\n") == 1


@pytest.mark.parametrize("format_name", ["terminal", "md", "tex", "html", "csv", "json"])
def test_no_format_of_a_report_holds_a_command(format_name):
    hostile = "\x1b[31m=\u202e[x](y)\x9b<b>*"
    facts = cases.usual().facts
    metrics = [[msgspec.structs.replace(each, name=hostile) for each in variant.metrics] for variant in facts.variants]
    variants = [
        msgspec.structs.replace(variant, metrics=renamed)
        for variant, renamed in zip(facts.variants, metrics, strict=True)
    ]
    text = rendered(format_name, msgspec.structs.replace(facts, experiment=hostile, variants=variants))
    # The page's own scripts have tabs.
    assert not has_commands(text.replace("\t", ""))
    assert format_name != "html" or "[x](y)\ufffd<b>" not in text


def rendered(format_name, facts):
    if format_name == "csv":
        return summary_csv(facts)
    if format_name == "json":
        return experiment_json(facts)
    writer = writers()[format_name]
    return writer.render(experiment_page(facts, writer.reader))
