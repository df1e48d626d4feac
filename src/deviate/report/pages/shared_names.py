"""Experiments whose names share a part: a screen says that part once, and names each by the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from deviate.project.cells import AT
from deviate.report.escape import code_pieces
from deviate.report.page import Answer, Block, Page, Sentences
from deviate.report.text.words import joined

#: Fields of a page that hold what is typed or was printed.
_LITERAL = frozenset({"command", "lines", "facts"})


class SharedNames(NamedTuple):
    """What some names share, and what each has beside it."""

    #: The sentence that says the shared part; empty where there is none.
    sentence: str = ""
    #: By the whole name.
    rests: Mapping[str, str] = {}


class _Parts(NamedTuple):
    experiment: str
    settings: tuple[str, ...]
    variant: str

    def without(self, experiment: str, settings: Sequence[str], variant: str) -> str:
        """Return the name of what is left."""
        left = ",".join(setting for setting in self.settings if setting not in settings)
        head = "" if self.experiment == experiment else self.experiment
        tail = "" if self.variant == variant else self.variant
        return ":".join(part for part in (AT.join(part for part in (head, left) if part), tail) if part)


def shared_names(names: Sequence[str]) -> SharedNames:
    """Return what all names share of ``EXPERIMENT@SETTING,SETTING:VARIANT``.

    Nothing is shared where a name would have nothing left, or two would have the same left.

    Examples
    --------
    >>> shared = shared_names(["digits@lr=0.1,width=32", "digits@lr=0.2,width=32"])
    >>> shared.sentence, list(shared.rests.values())
    ('Experiments of digits, all with width=32:', ['lr=0.1', 'lr=0.2'])
    >>> shared_names(["base", "wider"]).sentence
    ''
    """
    parts = [_parts(name) for name in names]
    experiment = _common(each.experiment for each in parts)
    variant = _common(each.variant for each in parts)
    settings = [each for each in parts[0].settings if all(each in other.settings for other in parts)]
    rests = [each.without(experiment, settings, variant) for each in parts]
    if not (experiment or settings or variant) or not all(rests) or len(set(rests)) < len(names):
        return SharedNames()
    return SharedNames(_sentence(parts, experiment, settings, variant), dict(zip(names, rests, strict=True)))


def _common(texts: Iterable[str]) -> str:
    """Return the text that all are; empty where they differ."""
    different = set(texts)
    return different.pop() if len(different) == 1 else ""


def _sentence(parts: Sequence[_Parts], experiment: str, settings: Sequence[str], variant: str) -> str:
    what = "Variants" if experiment and len({each.settings for each in parts}) == 1 else "Experiments"
    kept = [*settings, *([f"variant {variant}"] if variant else [])]
    of, beside = f" of {experiment}" if experiment else "", f" all with {joined(kept)}" if kept else ""
    return f"{what}{of}{',' if of and beside else ''}{beside}:"


def _parts(name: str) -> _Parts:
    whole, _, variant = name.partition(":")
    experiment, _, settings = whole.partition(AT)
    return _Parts(experiment, tuple(settings.split(",")) if settings else (), variant)


def with_shared_names(page: Page, shared: SharedNames) -> Page:
    """Say on top of the page what the names share, and the rest of each name elsewhere, but not in what is typed."""
    if not shared.sentence:
        return page
    renamed = _renamed(msgspec.to_builtins(page), lambda text: short_names(text, shared))
    named = msgspec.convert(renamed, Page)
    if named.title:
        return msgspec.structs.replace(named, subtitle=shared.sentence.removesuffix(":"))
    first, *others = named.sections
    blocks = [_below(shared.sentence, first.blocks[0]), *first.blocks[1:]]
    sections = [msgspec.structs.replace(first, blocks=blocks), *others]
    return msgspec.structs.replace(named, sections=sections)


def short_names(text: str, shared: SharedNames) -> str:
    """Return the text with the rest of each name in the place of the whole."""
    if not shared.rests:
        return text
    # The longest first: a name may begin another.
    longest = sorted(shared.rests, key=len, reverse=True)
    pattern = rf"(?<![\w.,@=-])(?:{'|'.join(map(re.escape, longest))})(?![\w@=-]|[.,:]\w)"
    return re.sub(pattern, lambda name: shared.rests[name[0]], text)


def _renamed(part: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        pieces = code_pieces(part) if "`" in part else [part]
        return "`".join(piece if index % 2 else rename(piece) for index, piece in enumerate(pieces))
    if isinstance(part, list | tuple):
        return [_renamed(each, rename) for each in part]
    if isinstance(part, dict):
        return {key: each if key in _LITERAL else _renamed(each, rename) for key, each in part.items()}
    return part


def _below(sentence: str, block: Block) -> Block:
    """Return the first block of a page with the sentence above its own, each on a line."""
    assert isinstance(block, Answer | Sentences)
    return msgspec.structs.replace(block, sentences=[sentence, *block.sentences], listed=True)
