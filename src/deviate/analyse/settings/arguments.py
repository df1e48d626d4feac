"""The words of a command after its script, as settings: ``--name value``, ``--name=value``, ``name=value``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

_ASSIGNED = re.compile(r"^\+{0,2}([A-Za-z_][\w./-]*)=(.*)$", re.DOTALL)
_NUMBER = re.compile(r"^-\.?\d")


class Arguments:
    """What a command gives, by the names it uses."""

    def __init__(self, words: Sequence[str]) -> None:
        #: Words after each option; an option that is given more often keeps the last ones.
        self.options: dict[str, list[str]] = {}
        #: ``name=value`` without dashes, as Hydra and Sacred take them.
        self.assigned: dict[str, str] = {}
        #: All values, whatever they are given for.
        self.values: list[str] = []
        #: Words after options that several commands give differently: those of the first one.
        self.first: dict[str, list[str]] = {}
        #: Of such options, how many of the commands give each word.
        self.differing: dict[str, Counter[str]] = {}
        #: Those before the first option.
        self.leading: list[str] = []
        last: list[str] | None = None
        for word in words:
            if word.startswith("-") and not _NUMBER.match(word):
                name, sign, value = word.partition("=")
                last = self.options[name] = [value] if sign else []
                self.values.extend([value] if sign else [])
                continue
            (self.leading if last is None else last).append(word)
            assigned = _ASSIGNED.match(word)
            if assigned is not None:
                self.assigned[assigned[1]] = assigned[2]
            self.values.append(assigned[2] if assigned is not None else word)


def words_after(command: Sequence[str], entry: str) -> list[str] | None:
    """Return the words of a command after the one that names the entry: its path, its folder or its module.

    None where no word does, as in ``bash train.sh``: what the script is started with is not known.
    """
    path = PurePath(entry).with_suffix("")
    names = {path.as_posix(), path.parent.as_posix()} if path.name == "__main__" else {path.as_posix()}
    for at, word in enumerate(command):
        plain = re.sub(r"^(-m|\./)", "", word).removesuffix(".py").rstrip("/")
        forms = {plain, plain.replace(".", "/")}
        if any(form and (name == form or name.endswith("/" + form) or form.endswith("/" + name))
               for name in names for form in forms):  # fmt: skip
            return list(command[at + 1 :])
    return None
