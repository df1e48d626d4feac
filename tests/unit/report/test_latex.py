"""LaTeX shows the document's numbers; no text of a user does anything to it."""

import re

import pandas as pd
import pytest
import report_cases as cases
from hypothesis import given
from hypothesis import strategies as st
from pdflatex import compile_paper, needs_pdflatex

from deviate.facts.curves import curves_of
from deviate.report.topics.checklist import checklist
from deviate.report.topics.curves import experiment_figures
from deviate.report.topics.distribution import MetricText, places
from deviate.report.topics.experiment import experiment_page, plain_curves, plain_facts
from deviate.report.topics.reproduce import methods
from deviate.report.words import code
from deviate.report.writers import latex as writer
from deviate.report.writers.latex import ROWS, STYLES, latex, latex_prose, number, render_styled

ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)

#: Everything that `latex` may write with a backslash.
COMMANDS = re.compile(
    r"\\(?:textbackslash\{\}|textasciitilde\{\}|textasciicircum\{\}|textless\{\}|textgreater\{\}|textbar\{\}"
    r"|textasciigrave\{\}|textdegree\{\}|dots\{\}|symbol\{34\}|deviateother\{[^\x00-\x7f]+\}\{\?+\}|[{}$&#%_])"
    r"|\$\\(?:pm|times|mu|eta)\$|\$\^2\$|\{\}"
)


def render_latex(document, curves=None):
    return writer.render_latex(experiment_page(document.facts, "paper", curves))


NASTY = 'a_b & 50% \\end{tabular}\\input{/etc/passwd} $x^2$ ~#{} "q" --`é точ | <b>'


@given(st.text())
def test_after_the_commands_of_escaping_nothing_special_is_left(text):
    assert not re.search(r"[\\{}$&#%_~^<>|`\n\"]", COMMANDS.sub("", latex(text)))


#: What `latex_prose` may write beside them.
MARKUP = re.compile(r"\\texttt\{([^{}]*)\}|\$(?:n-1|p(?:[=<]\d+(?:\.\d+)?(?:\\times10\^\{-?\d+\})?)?)\$")


@given(st.text(st.sampled_from("`p =<01.-vn$\\{}_e1\ra\x1b[")) | st.text())
def test_after_the_markup_of_sentences_nothing_special_is_left(text):
    bare = MARKUP.sub(lambda found: found[1] or "", COMMANDS.sub("", latex_prose(text)))
    assert not re.search(r"[\\{}$&#%_~^<>|`\n\"]", bare)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("divisor n - 1 and", "divisor $n-1$ and"),
        ("variance: p = 0.031, F", "variance: $p=0.031$, F"),
        ("is p < 0.0001.", r"is $p<0.0001$."),
        ("p = 1.2e-7", r"$p=1.2\times10^{-7}$"),
        ("the p-values of", "the $p$-values of"),
        ("step = 2, n - 10, mean p-val", "step = 2, n - 10, mean p-val"),
        ("The command `python a_b.py --lr 1` ran", r"The command \texttt{python a\_b.py -{}-lr 1} ran"),
        ("echo `date", r"echo \textasciigrave{}date"),
    ],
)
def test_sentences(sentence, expected):
    assert latex_prose(sentence) == expected


def test_a_command_is_typewriter_and_one_with_grave_accents_is_not():
    assert r"The training command \texttt{python train.py -{}-epochs 10} was run" in render_latex(cases.usual())
    assert code("echo `id`") == "echo `id`"


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
    digits = places(metric for variant in document.variants for metric in variant.metrics)
    for variant in document.variants:
        for metric in variant.metrics:
            if metric.n:
                shown = MetricText(metric, digits)
                numbers = (shown.n, shown.mean, shown.sd, shown.ci_mean, shown.ci_sd, shown.min, shown.max)
                name = latex(f"{shown.name}{f' ({shown.aggregate})' if shown.aggregate else ''}")
                assert [name, *map(number, numbers)] in rows


@ALL
def test_methods_and_answers_are_in_it(case):
    document = case()
    text = render_latex(document)
    facts = plain_facts(document.facts)
    assert all(latex_prose(sentence) in text for sentence in methods(facts))
    assert all(latex_prose(answer.answer) in text for answer in checklist(facts))
    assert any(line.startswith(r"% Needs \usepackage{booktabs}") for line in text.splitlines()[:3])


def test_long_tables_are_split():
    text = render_latex(cases.crowded())
    pages = -(-len(cases.crowded().variants[0].metrics) // ROWS)
    assert text.count(r"\begin{tabular}") == pages
    assert f"(1 of {pages})" in text


def test_a_caption_is_apart_from_the_rule_below_it():
    assert r"\setlength{\belowcaptionskip}{4pt}" in render_latex(cases.usual())


def test_values_that_are_held_have_the_digits_of_the_rows_beside_them():
    held = {"test acc": [91.296296] * 4, "val loss": [1.2155893] * 4}
    varied = {"test acc": [89.0, 87.1, 90.5, 91.3], "val loss": [1.2155893] * 4}
    found = rows_of(render_latex(cases.document({"algo+impl": varied, "control": held})))
    assert ["nothing (control)", "91.3", "0", "0"] in found
    # No row of this metric says how many digits are worth showing.
    assert any("1.216" in cell for row in found for cell in row)
    assert not [row for row in found if len(row) > 1 and "91.296" in "".join(row)]


def test_lines_for_the_figures_of_the_main_metric_are_ready():
    document = cases.sources()
    points = [("algo+impl", run, "test acc", step, float(run + step)) for run in range(2) for step in range(3)]
    records = pd.DataFrame(points, columns=["variant", "run", "metric", "iteration", "value"])
    curves = curves_of(document.facts, cases.by_run(records))
    lines = render_latex(document, curves).splitlines()
    commented = lines[next(place for place, line in enumerate(lines) if line.startswith("% Figures")) :]
    assert all(line.startswith("%") for line in commented)
    every = experiment_figures(plain_facts(document.facts), plain_curves(curves))
    figures = [figure for figure in every if figure.metric == "test acc"]
    assert {figure.slug.split("-")[0] for figure in figures} == {"distribution", "curves", "factors"}
    for figure in figures:
        assert rf"%   \includegraphics[width=\columnwidth]{{figures/{figure.slug}.pdf}}" in commented
        assert rf"%   \caption{{{latex(figure.description)}}}" in commented
    assert sum(r"\caption" in line for line in commented) == len(figures)


@needs_pdflatex
def test_pdflatex_takes_all_of_it(tmp_path):
    nasty = cases.document({"algo+impl": {NASTY: [1.0, 2.0, 3.0]}}, switches=[])
    parts = [render_latex(case()) for case in (cases.usual, cases.sources, cases.troubled, cases.single)]
    parts += [render_latex(nasty)]
    assert compile_paper(tmp_path, *parts) > 10_000


def test_a_style_has_its_width_of_tables_and_answers_its_own_checklist():
    page = experiment_page(cases.usual().facts, "paper")
    texts = {name: render_styled(page, name) for name in STYLES}
    assert {name: r"\begin{table*}" in text for name, text in texts.items()} == {
        "neurips": False, "icml": True, "jmlr": False,
    }  # fmt: skip
    assert r"\begin{table}" in texts["neurips"]
    assert [f"question {number}: justification" in texts["neurips"] for number in (3, 4, 6, 7, 8)] == [
        False,
        *[True] * 4,
    ]
    assert "How were hyper-parameters chosen? Not known to Deviate." in texts["neurips"]
    assert "checklist" not in texts["icml"]
    assert "How many training runs" in texts["jmlr"]
    assert "Which factors of variability" not in texts["jmlr"]
    assert all(r"\paragraph{Methods.}" in text for text in texts.values())
