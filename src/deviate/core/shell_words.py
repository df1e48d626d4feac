"""Words as one types them in a shell, in a form that no layout changes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}


def typed_word(word: str) -> str:
    r"""Return a word as `shlex.quote` does, without anything that a page or a terminal does not show as it is.

    Line breaks, control characters, bytes that are no text and blanks beside blanks are escaped, for which Bash, Zsh
    and Ksh have ``$'...'``.

    >>> print(typed_word("a b"), typed_word("two\nlines"), typed_word("it's  two"))
    'a b' $'two\nlines' $'it\'s \x20two'
    """
    if word.isprintable() and "  " not in word:
        return shlex.quote(word)
    escaped = "".join(map(_escaped, word)).replace("  ", r" \x20")
    return f"$'{escaped}'"


def typed_line(words: Iterable[str]) -> str:
    """Return a command as one types it, see `typed_word`."""
    return " ".join(map(typed_word, words))


def _escaped(character: str) -> str:
    if character in _NAMED or character.isprintable():
        return _NAMED.get(character, character)
    # A byte that is no text stands for itself.
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", errors))
