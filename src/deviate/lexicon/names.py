"""Names that users type, matched with the names there are; case is ignored where that leaves no doubt."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.core.errors import BadOption


def same_name(name: str, names: Sequence[str]) -> str | None:
    """Return the one of `names` that is meant: the very same, or the only one that differs in case alone.

    A metric of an evaluation, ``evaluate: accuracy``, may be named without the evaluation where that leaves no doubt.

    Examples
    --------
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

    Raises
    ------
    BadOption
        With the names there are, in their order, if none of them or more than one is meant.

    Examples
    --------
    >>> find_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    """
    match = same_name(name, names)
    if match is None and (alike := _alike(name, names)):
        raise BadOption(f"{name!r} names {len(alike)} {what}s", hint=f"type one of them: {', '.join(map(repr, alike))}")
    if match is None:
        recorded = ", ".join(dict.fromkeys(names)) or "none"
        raise BadOption(f"no {what} {name!r} was recorded", hint=f"{what}s: {recorded}")
    return match
