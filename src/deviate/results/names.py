"""Names that users type, matched with the names there are; case is ignored where that leaves no doubt."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.errors import BadOption


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
    if name in names:
        return name
    alike = {other for other in names if other.casefold() == name.casefold()} or {
        other for other in names if other.rpartition(": ")[2].casefold() == name.casefold()
    }
    return alike.pop() if len(alike) == 1 else None


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
    if match is None:
        recorded = ", ".join(dict.fromkeys(names)) or "none"
        raise BadOption(f"no {what} {name!r} was recorded", hint=f"{what}s: {recorded}")
    return match
