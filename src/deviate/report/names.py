"""What a user names among the names there are: upper and lower case are one where that leaves no doubt."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.errors import BadOption


def same_name(asked: str, names: Sequence[str]) -> str | None:
    """Return the one of `names` that is meant: the very same, or the only one that differs in case alone.

    Examples
    --------
    >>> same_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    >>> same_name("Loss", ["loss", "Loss"])
    'Loss'
    >>> same_name("LOSS", ["loss", "Loss"]) is None
    True
    """
    if asked in names:
        return asked
    alike = {name for name in names if name.casefold() == asked.casefold()}
    return alike.pop() if len(alike) == 1 else None


def find_name(asked: str, names: Sequence[str], what: str = "metric") -> str:
    """Return the one of `names` that is meant, as `same_name`.

    Parameters
    ----------
    asked : str
        What the user typed.
    names : sequence of str
        The names there are; they are listed in this order where none is meant.
    what : str, optional
        What is named, in one word.

    Raises
    ------
    BadOption
        With the names there are, if none of them or more than one is meant.

    Examples
    --------
    >>> find_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    """
    found = same_name(asked, names)
    if found is None:
        there = ", ".join(dict.fromkeys(names)) or "none"
        raise BadOption(f"no {what} {asked!r} was recorded", hint=f"{what}s: {there}")
    return found
