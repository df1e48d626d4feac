"""What to type instead of a program that does not exist."""

from __future__ import annotations

import difflib
import shutil

from deviate.analyse.launchers import LAUNCHERS, PREFIXES, RUNNERS, SHELLS

#: Programs that trainings are started with.
KNOWN = ("python", "python3", *LAUNCHERS, *RUNNERS, *SHELLS, *PREFIXES)

#: Least likeness of two names, in [0, 1], that is taken for a slip: one letter, or two that changed places.
ALIKE = 0.7


def missing_hint(word: str, path: str | None = None) -> str:
    """Say what to type instead of `word`, which is not found.

    Parameters
    ----------
    word : str
        First word of a command.
    path : str, optional
        Folders that are searched, as in PATH; by default PATH.
    """
    near = difflib.get_close_matches(word, KNOWN, n=len(KNOWN), cutoff=ALIKE)
    there = next((name for name in near if shutil.which(name, path=path)), None)
    if there is not None:
        return f"did you mean {there}?"
    return "the words after -- are started without a shell; for shell syntax use: bash -c '...'"
