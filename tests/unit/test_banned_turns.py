"""Messages and docs keep out turns that no reader of the field uses; `docs/contributing/voice.md` says why."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tracked import tracked_files

ROOT = Path(__file__).parents[2]

#: Each with what to say instead.
TURNS = {
    r"\bof which\b": "two sentences",
    r"\ba side\b": "of each experiment, of each recipe",
    r"\b(be|are|is|was|were|being|had|have|has|not) told\b": "distinguished, recognised, known, listed",
    r"\btold (by|apart|from|rightly|wrongly|so|them|of|not)\b": "distinguished, recognised, known, listed",
    r"\bsay(s|ing)? again\b": "repeat",
    r"\b(was|is|were) heard\b": "recorded, reported",
    r"\b(metrics?|values?|numbers?) (that )?came\b": "recorded values",
    r"\bcame of\b": "outcome, became of",
    r"\bgoes round\b": "iterates",
    r"\bshare draws\b": "used the same random numbers",
    r"\btells? (runs|rows) apart\b": "identifies the run",
    r"\bnobody knows\b|\bnothing tells\b": "it is unknown",
    r"\bat one draw of\b": "with the same ... in all runs",
    r"\bnot claimed\b(?! beforehand)": "exploratory",
    r"\bas was asked\b": "as requested",
    r"\b(number|point|row|value|line) a (run|metric|group|layer|variant)\b": "one per run",
    r"\btraining again changes\b": "retraining changes",
    r"\bruns? went on\b|\bgoes on from\b": "ran, continues from",
}

#: Words of the longest sentence; lists between semicolons and behind colons count by themselves.
LONGEST = 40

#: Pages that list keys or reasons, and texts that are no prose: patterns and queries.
LISTS = ("docs/decisions/", "docs/json-contracts.md", "CHANGELOG.md")
NO_PROSE = re.compile(r"\(\^?\||\|\(|\bSELECT\b|#SBATCH|\\b|^[\w ]+$")

#: Pages that show such turns as what to avoid.
SHOWN = {"docs/contributing/voice.md"}

PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in tracked_files("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md")
]


@cache
def messages(path):
    """Return the texts of a module that are no docstrings, with blanks for what is filled in, and their lines."""
    return list(_messages(path))


def _messages(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    bodies = (getattr(node, "body", None) for node in nodes)
    statements = (each for body in bodies if isinstance(body, list) for each in body)
    docstrings = {each.value for each in statements if isinstance(each, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value


def banned(text):
    """Return the turns in a text, each with what to say instead."""
    return [f"{found.group()!r}: {instead}" for turn, instead in TURNS.items() for found in re.finditer(turn, text)]


def test_no_message_has_a_banned_turn():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {turn}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, text in messages(path)
        for turn in banned(text)
    ]
    assert found == []


@pytest.mark.parametrize("page", [page for page in PAGES if page not in SHOWN])
def test_no_page_has_a_banned_turn(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [f"{line}: {turn}" for line, words in enumerate(text.splitlines(), 1) for turn in banned(words)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "two files, of which one is empty",
        "8 runs a side",
        "cannot be told",
        "rows are told apart by their names",
        "nothing was heard from it",
        "3 of 4 metrics came",
        "whatever came of it",
        "runs of one index share draws",
        "better, at one draw of data",
    ],
)
def test_a_banned_turn_is_found(text):
    assert banned(text)


def sentences(text):
    """Yield the sentences of a page or a message, with code, addresses of links, tables and headings left out."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"(?m)^(?: {4}|\||#).*$", "", text)
    text = re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", text))
    yield from re.split(r"(?<=[.!?:;])\s+|\n\s*\n|(?m:^\s*(?:[-*]|\d+\.) )", text)


def long_sentences(text):
    counted = ((len(re.findall(r"[A-Za-z]{2,}", sentence)), sentence) for sentence in sentences(text))
    return [f"{words} words: {' '.join(sentence.split())}" for words, sentence in counted if words > LONGEST]


def test_no_message_has_a_sentence_too_long_to_read_once():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, text in messages(path)
        if not NO_PROSE.search(text)
        for sentence in long_sentences(text)
    ]
    assert found == []


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith(LISTS)])
def test_no_page_has_a_sentence_too_long_to_read_once(page):
    assert long_sentences((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_long_sentence_is_found():
    assert long_sentences("word " * 41)
    assert not long_sentences("word " * 40 + ". " + "word " * 40)


def test_plain_words_are_left_alone():
    assert banned("Three of the 4 metrics recorded values; the outcome became known, on one side of zero.") == []
