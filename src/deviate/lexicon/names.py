"""Names that users type, matched with the names there are, and names made unique; case tells none apart."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from deviate.core.errors import BadOption


def same_name(name: str, names: Sequence[str]) -> str | None:
    """Return the one of `names` that is meant: the very same, or the only one that differs in case alone.

    A metric of an evaluation, ``evaluate: accuracy``, may be named without the evaluation where that leaves no doubt.

    >>> same_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    >>> same_name("Loss", ["loss", "Loss"])
    'Loss'
    >>> same_name("accuracy", ["evaluate: accuracy", "loss"])
    'evaluate: accuracy'
    >>> same_name("LOSS", ["loss", "Loss"]) is None
    True
    """
    alike = _alike(name, names)
    return alike[0] if len(alike) == 1 else None


def _alike(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that may be meant, each once."""
    if name in names:
        return [name]
    alike = [other for other in names if other.casefold() == name.casefold()]
    alike = alike or [other for other in names if other.rpartition(": ")[2].casefold() == name.casefold()]
    return list(dict.fromkeys(alike))


def find_name(name: str, names: Sequence[str], what: str = "metric") -> str:
    """Return the one of `names` that is meant, as `same_name`; `what` is what is named, in one word.

    Raises BadOption with the names there are, in their order, if none of them or more than one is meant.

    >>> find_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    """
    match = same_name(name, names)
    if match is None and (alike := _alike(name, names)):
        raise BadOption(f"{name!r} names {len(alike)} {what}s", hint=f"type one of them: {', '.join(map(repr, alike))}")
    if match is None:
        raise BadOption(*missing_name(name, names, f"no {what} {name!r}", what))
    return match


def missing_name(name: str, names: Sequence[str], missing: str, what: str = "metric") -> tuple[str, str]:
    """Return what to say of a name that is not there, and what to type: the name that it is nearly, else any of them.

    >>> missing_name("test accc", ["test acc", "loss"], "no metric 'test accc'")
    ("no metric 'test accc'; did you mean 'test acc'?", '')
    >>> missing_name("f1", ["test acc", "loss"], "no metric 'f1'")
    ("no metric 'f1'", 'type one of: test acc, loss')
    """
    if near := difflib.get_close_matches(name, names, n=1):
        return f"{missing}; did you mean {near[0]!r}?", ""
    return missing, f"type one of: {', '.join(dict.fromkeys(names))}" if names else f"there is no {what}"


# Names that Deviate makes.


def unique(names: list[str], hints: list[list[str]]) -> list[str]:
    """Make names differ by more than case: add the first hint that tells them apart, then a number."""
    result = list(names)
    for level in range(max((len(hint) for hint in hints), default=0)):
        same_names: dict[str, list[int]] = {}
        for index, name in enumerate(result):
            same_names.setdefault(name.lower(), []).append(index)
        for indices in same_names.values():
            extra = [hints[index][level] if level < len(hints[index]) else "" for index in indices]
            if len(set(extra)) > 1:
                for index, word in zip(indices, extra, strict=True):
                    if word and word.lower() not in result[index].lower():
                        result[index] = f"{word} {result[index]}" if level == 0 else f"{result[index]} ({word})"
    seen: dict[str, int] = {}
    for index, name in enumerate(result):
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        if seen[name.lower()] > 1:
            result[index] = f"{name} #{seen[name.lower()]}"
    return result
