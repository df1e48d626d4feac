"""Every statement about results stands in `sentences.md`, beside this file, with its condition and an existing test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (Path(__file__).parent / "sentences.md").read_text(encoding="utf-8")
LABELS = (Path(__file__).parent / "sentence_labels.txt").read_text(encoding="utf-8").splitlines()

#: Where statements about results are made; errors are in `docs/messages.md`.
MODULES = ("report/topics", "report/figures.py", "report/words.py", "stats", "facts/samples.py", "facts/stored.py",
           "facts/predictions.py", "facts/remedies.py", "facts/run.py", "facts/groups.py",
           "facts/stability.py", "facts/weights.py", "facts/grid.py",
           "facts/compared_predictions.py", "facts/gate.py", "cli/logs.py", "observe/reported.py",
           "observe/matching.py", "observe/examples.py", "observe/weights.py", "observe/output/judge.py",
           "imports/build.py", "imports/counting.py", "imports/formats.py", "imports/foreign.py", "imports/tables.py",
           "imports/trackers.py", "imports/trainings.py", "probes/verdicts.py", "probes/audit.py")  # fmt: skip

#: A text of so many words, or one that ends a sentence, is a statement unless it is listed among the labels.
WORDS = 3


def files():
    for module in MODULES:
        path = ROOT / "src" / "deviate" / module
        yield from [path] if path.suffix else sorted(path.rglob("*.py"))


def is_pattern(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("re.compile", "re.match", "re.fullmatch")


def templates(path):
    """Yield the texts of a module with `{}` for what is filled in; not docstrings, patterns, nor those of errors."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        first = node.body[0] if isinstance(getattr(node, "body", None), list) and node.body else None
        if isinstance(first, ast.Expr):
            skipped.add(first.value)
        if isinstance(node, ast.Raise) or is_pattern(node):
            skipped.update(ast.walk(node))
        if isinstance(node, ast.JoinedStr):
            skipped.update(part for part in node.values if isinstance(part, ast.Constant))
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            skipped.update(ast.walk(node.format_spec))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def plain(text):
    """Return a template with empty braces and single blanks."""
    return " ".join(re.sub(r"\{[^{}]*\}", "{}", text).split())


def is_statement(text):
    words = re.findall(r"[A-Za-z]{2,}", text)
    return len(words) >= WORDS or bool(words and text.rstrip().endswith("."))


def rows():
    """Return the templates, the condition and the tests of each row of the page."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    for sentences, condition, tests in (re.split(r"(?<!\\)\|", line)[1:4] for line in lines):
        spans = re.findall(r"`` (.+?) ``|`(.+?)`(?:<br>| $)", sentences)
        texts = [plain((long or short).replace("\\|", "|")) for long, short in spans]
        yield texts, condition.strip(), re.findall(r"`(.+?)`", tests)


@cache
def in_source():
    """Return the templates of all modules, as they are written."""
    return frozenset(text for path in files() for text in templates(path))


LISTED = {text for texts, _, _ in rows() for text in texts}


def test_every_statement_is_listed():
    made = {plain(text) for text in in_source() if is_statement(text)}
    assert not made - LISTED - {plain(label) for label in LABELS}


def test_every_listed_statement_is_made():
    there = {plain(text) for text in in_source()}
    assert not LISTED - there
    assert not {plain(label) for label in LABELS} - there
    assert not LISTED & {plain(label) for label in LABELS}


def test_every_statement_has_a_condition_and_stands_once():
    every = [text for texts, _, _ in rows() for text in texts]
    assert sorted(every) == sorted(set(every))
    assert all(texts and condition and tests for texts, condition, tests in rows())


@cache
def functions(path):
    """Return the names of the functions of a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("test", sorted({test for _, _, tests in rows() for test in tests}))
def test_every_test_that_is_named_is_there(test):
    path, _, name = test.partition("::")
    assert name in functions(ROOT / "tests" / path)
