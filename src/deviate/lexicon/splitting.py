"""The words of a name or text, and lists of words."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

#: Where a word of a name begins: in ``run_test`` and ``runTest``, and not in ``latest``.
BEGINS = r"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z]))"
#: A word of a name that has to do with training, be it joined to others, ``pretrain``; no ``constraint``.
TRAIN = r"(?<!s)(?i:train)"
#: Logs, be the word joined to others, ``tblogger``; no ``catalog``, ``logit`` or ``login``.
LOG = (
    r"(?<![A-Za-z])(?i:(train|test|val|eval|run|main|my|file|event|text)log(?![a-z])|log(?!i[ct]|in|ar)|struct_?log)"
    r"|(?<=[a-z0-9])Log(?!i[ct]|in|ar)|(?i:logg(er|ing))"
)
_LISTS = Path(__file__).parent / "lists"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def word_lists(name: str) -> dict[str, frozenset[str]]:
    """Read ``lists/NAME.txt``: each list starts with its name in brackets; ``#`` starts a remark."""
    lists: dict[str, set[str]] = {}
    for line in (_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = lists.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            words.add(line)
    return {name: frozenset(words) for name, words in lists.items()}


def words_like(whole: str = "", begun: str = "") -> str:
    """Return a regular expression for a word of a name: one of `whole`, or one that begins with one of `begun`.

    Both are alternatives of regular expressions, in whatever case. ``main`` is found in ``is_main`` and ``isMain``, and
    not in ``domain`` or ``remain``.
    """
    return rf"{BEGINS}(?:{f'(?i:{whole})(?![a-z])|' if whole else ''}(?i:{begun or '(?!)'}))"


def plain(name: str) -> str:
    """Return a name without case and punctuation.

    Examples
    --------
    >>> plain("Global_Step"), plain("_step")
    ('globalstep', 'step')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


@lru_cache(maxsize=20_000)
def word_forms(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a name or text into lower-case words, each with the forms in which it may be known.

    ``valAcc_top1`` gives val, (acc, valacc), (top, top1): alone, with the number behind it, joined to a whole.
    """
    words: list[tuple[str, ...]] = []
    for name in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        parts = _WORD.findall(name)
        for position, part in enumerate(parts):
            if not part.isdigit():
                words.append((part.lower(),))
            elif position:
                words[-1] += (parts[position - 1].lower() + part,)
        if len(parts) > 1:
            words[-1] += (name.lower(),)
    return tuple(words)


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """Split a name or text into lower-case words; ``valAcc_top1`` gives val, acc, valacc, top, top1, top1."""
    return tuple(form for forms in word_forms(text) for form in forms)
