"""The user's list joined with what was found: renamed, dropped, added, moved lines, mistakes."""

import msgspec
import pytest

from deviate.core.errors import BadConfig
from deviate.core.experiment import Capture, Findings, Metric, Span
from deviate.source.config import read_config
from deviate.source.entry import Started
from deviate.source.selection import apply_config, extract_starts

SOURCE = """\
import math

def train():
    for epoch in range(3):
        loss = math.exp(-epoch)
        print("loss", loss, 'of', "x"[0])

train()
kept = math.pi
"""
METRIC = Metric(
    name="loss", variable="loss", expression="loss", file="t.py", line=6, end_line=6, function="train", sink="print",
    kind="loss", direction="lower", aggregate="last", confidence=0.9, why="printed",
    capture=Capture(how="value", span=Span(6, 22, 6, 26)),
)  # fmt: skip


@pytest.fixture
def applied(tmp_path):
    (tmp_path / "t.py").write_text(SOURCE)

    def apply(toml):
        (tmp_path / "deviate.toml").write_text(toml)
        findings = Findings(entry="t.py", main_loop=None, metrics=[METRIC])
        return apply_config(findings, read_config(tmp_path), tmp_path)

    return apply


def entry(name="loss", line=6, expression="loss", file="t.py", more=""):
    return f"[[metric]]\nname = '{name}'\nfile = '{file}'\nline = {line}\nexpression = '''{expression}'''\n{more}\n"


def test_a_metric_is_renamed_and_given_an_aggregate(applied):
    (metric,) = applied(entry(name="my loss", more="aggregate = 'min'")).metrics
    assert (metric.name, metric.aggregate) == ("my loss", "min")
    assert (metric.capture, metric.kind, metric.direction) == (METRIC.capture, "loss", "lower")


def test_what_is_not_listed_is_dropped_but_still_known(applied):
    findings = applied(entry(name="rate", line=5, expression="math.exp(-epoch)"))
    assert [(m.name, m.selected) for m in findings.metrics] == [("rate", True), ("loss", False)]


def test_an_added_expression_gets_its_exact_span(applied):
    (metric, _) = applied(entry(name="rate", line=5, expression="math.exp( -epoch )")).metrics
    assert metric.capture.span == Span(5, 15, 5, 31)
    assert metric.function == "train"


def test_the_name_of_what_is_assigned_on_a_line_stands_for_the_value(applied):
    (metric, _) = applied(entry(name="round", line=9, expression="kept")).metrics
    assert (metric.name, metric.capture.span) == ("round", Span(9, 7, 9, 14))


def test_quotes_of_the_added_expression_do_not_matter(applied):
    (metric, _) = applied(entry(name="letter", expression="'x'[0]")).metrics
    assert metric.capture.span == Span(6, 34, 6, 40)


def test_a_metric_whose_line_moved_is_still_found(applied):
    (metric,) = applied(entry(line=99)).metrics
    assert metric.line == 6


@pytest.mark.parametrize("line", ["accuracy, rest = halves()", "accuracy += 1", "for accuracy in halves():\n    pass"])
def test_the_hint_for_a_name_that_a_line_only_sets_says_which_line_or_value_would_do(applied, tmp_path, line):
    text = f"def halves():\n    return 1, 2\naccuracy = 0\n{line}\nprint(accuracy)\n"
    (tmp_path / "t.py").write_text(text)
    with pytest.raises(BadConfig) as raised:
        applied(entry(line=4, expression="accuracy"))
    assert "name one that reads the value, or the right-hand side" in raised.value.hint
    (metric, _) = applied(entry(line=text.count("\n"), expression="accuracy")).metrics
    assert metric.name == "loss"


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        (entry(expression="accuracy"), "no expression 'accuracy' on line 6 of t.py"),
        (entry(file="gone.py"), "gone.py"),
        (entry() + entry(), "two metrics are named 'loss'"),
        ("[main_loop]\nfile = 't.py'\nline = 5", "no for or while starts on line 5"),
    ],
)
def test_an_entry_that_is_not_there_is_an_error(applied, toml, problem):
    with pytest.raises(BadConfig) as caught:
        applied(toml)
    assert problem in caught.value.message
    assert caught.value.hint


def test_the_second_of_two_equal_names_is_named_by_its_line(applied):
    with pytest.raises(BadConfig, match=r"deviate\.toml:7:"):
        applied(entry() + entry())


def test_a_named_loop_is_the_main_loop(applied):
    loop = applied("[main_loop]\nfile = 't.py'\nline = 4").main_loop
    assert (loop.kind, loop.variable, loop.span) == ("for", "epoch", Span(4, 17, 4, 25))


@pytest.mark.parametrize(("words", "is_read"), [("--probe", True), ("", False), ("$OPTIONS", True)])
def test_each_script_has_the_options_of_its_own_command(tmp_path, words, is_read):
    (tmp_path / "train.py").write_text(
        "import argparse, random\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--probe', action='store_true')\nargs = parser.parse_args()\n"
        "for step in range(3):\n    loss = random.random()\n    print(step, 'loss', loss)\n"
        "    if args.probe:\n        print('probed loss', loss / 2)\n"
    )
    command = f"python train.py {words}".split()
    found = extract_starts(tmp_path, [Started(entry="train.py", command=command)], cwd=tmp_path)
    assert ("probed loss" in {metric.name for metric in found.metrics}) is is_read


@pytest.mark.parametrize("spelling", ["100. * right/8", "100.0 * right / 8"])
def test_an_entry_is_the_metric_however_it_is_spelled(tmp_path, spelling):
    (tmp_path / "t.py").write_text("right = 4\nprint('acc', 100. * right/8)\n")
    (tmp_path / "deviate.toml").write_text(entry(name="mine", line=2, expression=spelling))
    for written in ("100. * right/8", "100.0 * right / 8"):
        known = msgspec.structs.replace(METRIC, expression=written, line=2, end_line=2)
        (metric,) = apply_config(
            Findings(entry="t.py", main_loop=None, metrics=[known]), read_config(tmp_path), tmp_path
        ).metrics
        assert (metric.name, metric.sink) == ("mine", "print")
