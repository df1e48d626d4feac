"""LaTeX shows the document's numbers; no text of a user does anything to it."""

import re
import shutil
import subprocess

import pytest
import report_cases as cases
from compared_sides import side, side_metric, sides
from hypothesis import given
from hypothesis import strategies as st

from deviate.report.comparison.build import build_comparison
from deviate.report.comparison.cells import Cells
from deviate.report.comparison.inputs import Asked
from deviate.report.latex_text import latex, number
from deviate.report.shown import Shown
from deviate.report.writers.comparison_latex import render_comparison_latex
from deviate.report.writers.latex import ROWS, render_latex

ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)

#: Everything that `latex` may write with a backslash.
COMMANDS = re.compile(
    r"\\(?:textbackslash\{\}|textasciitilde\{\}|textasciicircum\{\}|textless\{\}|textgreater\{\}|textbar\{\}"
    r"|textasciigrave\{\}|textdegree\{\}|dots\{\}|symbol\{34\}|deviateother\{[^\x00-\x7f]+\}\{\?+\}|[{}$&#%_])"
    r"|\$\\(?:pm|times|mu)\$|\{\}"
)

NASTY = 'a_b & 50% \\end{tabular}\\input{/etc/passwd} $x^2$ ~#{} "q" --`é точ | <b>'


@given(st.text())
def test_after_the_commands_of_escaping_nothing_special_is_left(text):
    assert not re.search(r"[\\{}$&#%_~^<>|`\n\"]", COMMANDS.sub("", latex(text)))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("–", "--"),
        ("96.94 ± 0.53", r"96.94 $\pm$ 0.53"),
        ("-1.2 to 3", "$-1.2$ to 3"),
        ("1.2e-7–3e12", r"$1.2\times10^{-7}$--$3\times10^{12}$"),
        ("<0.0001", "$<$0.0001"),
        ("0.55%", r"0.55\%"),
    ],
)
def test_numbers(shown, expected):
    assert number(shown) == expected


def rows_of(text):
    return [[cell.strip() for cell in line.strip().removesuffix(r"\\").split(" & ")] for line in text.splitlines()]


@ALL
def test_every_metric_is_a_row_with_the_numbers_of_all_formats(case):
    document = case()
    rows = rows_of(render_latex(document))
    for variant in document.variants:
        for metric in variant.metrics:
            if metric.n:
                shown = Shown(metric)
                numbers = (shown.n, shown.mean, shown.sd, shown.ci_mean, shown.ci_sd, shown.min, shown.max)
                name = latex(f"{shown.name}{f' ({shown.aggregate})' if shown.aggregate else ''}")
                assert [name, *map(number, numbers)] in rows


@ALL
def test_methods_and_answers_are_in_it(case):
    document = case()
    text = render_latex(document)
    assert all(latex(sentence) in text for sentence in document.methods)
    assert all(latex(answer.answer) in text for answer in document.checklist)
    assert text.splitlines()[1].startswith(r"% Needs \usepackage{booktabs}")


def test_long_tables_are_split():
    text = render_latex(cases.crowded())
    pages = -(-len(cases.crowded().variants[0].metrics) // ROWS)
    assert text.count(r"\begin{tabular}") == pages
    assert f"(1 of {pages})" in text


def nasty_comparison():
    values = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0, 7.0])
    made = [side(label, [side_metric(NASTY, sample)]) for label, sample in zip(("a_1", "b&2"), values, strict=True)]
    return build_comparison(made, Asked(margins={NASTY: 0.5}), "deviate compare a b")


def test_comparison_rows_have_the_numbers_of_all_formats():
    made = build_comparison(sides(), Asked(), "deviate compare a b")
    rows = rows_of(render_comparison_latex(made))
    for metric in made.pairs[0].metrics:
        cells = Cells(metric, made.pairs[0])
        numbers = [number(text) for text in (cells.runs, cells.a, cells.b, cells.difference, cells.ci, cells.p)]
        assert any(row[1:7] == numbers and row[7] == latex(cells.verdict) for row in rows)
    text = render_comparison_latex(made)
    assert "Means are compared by Welch's t test" in text
    assert "adjusted together (Holm)" in text


@pytest.mark.latex
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_pdflatex_takes_all_of_it(tmp_path):
    nasty = cases.document({"algo+impl": {NASTY: [1.0, 2.0, 3.0]}}, switches=[])
    parts = [render_latex(case()) for case in (cases.usual, cases.sources, cases.troubled, cases.single)]
    parts += [render_latex(nasty), render_comparison_latex(nasty_comparison())]
    body = "\n\\clearpage\n".join(parts)
    source = "\\documentclass[twocolumn]{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "paper.tex").write_text(f"{source}{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout.decode("utf-8", "replace")[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000
