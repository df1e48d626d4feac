"""What was set in each run, as far as its source tells, and what is to be said where that differs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deviate.analyse.naming.words import meaning_of, words_of
from deviate.errors import some_of
from deviate.importing.foreign import ForeignRun
from deviate.importing.roles import Roles, columns_of, is_run_name, is_setting
from deviate.importing.rows import Row, is_moment, number
from deviate.importing.unit import is_amount
from deviate.shell_words import typed_word

#: Words of names of what is another in each run, whatever was set.
_OWN = frozenset({
    "seed", "id", "uuid", "name", "names", "dir", "directory", "path", "file", "files", "output", "out", "log",
    "logs", "date", "time", "times", "start", "started", "end", "ended", "created", "updated", "timestamp",
    "runtime", "host", "hostname", "port", "device", "gpu", "user", "notes", "tags", "version", "commit", "url",
    "exp", "folder",
})  # fmt: skip

#: Settings, and values of each, that a note names.
MOST_SETTINGS, MOST_VALUES = 6, 4


def settings_of(rows: Sequence[Row], metrics: Sequence[str], roles: Roles) -> dict[str, str]:
    """Return what may be settings: columns with one value in all rows of a run, but known metrics."""
    amounts = {name for name in roles.counters if is_amount(name) and name != roles.iteration}
    used = (roles.taken - {roles.group} - amounts).union(name for name in metrics if meaning_of(name) is not None)
    found: dict[str, str] = {}
    for name in columns_of(rows):
        words = {row[name] for row in rows if name in row} if name not in used else set()
        if len(words) == 1:
            found[name] = words.pop()
    return found


def setting_notes(runs: Sequence[ForeignRun], *, option: str) -> Iterator[str]:
    """Say which settings differ between the runs of one experiment; `option` takes the name of one to split them by."""
    differing = differing_settings(runs)
    if differing:
        settings = {tuple(_alike(run.settings.get(name, "")) for name in differing) for run in runs}
        parts = [f"{name!r} ({some_of(values, MOST_VALUES)})" for name, values in differing.items()]
        first = next(iter(differing))
        value = f"={next(iter(differing[first]))}" if option == "--where" else ""
        yield (
            f"{some_of(parts, MOST_SETTINGS)} {'differs' if len(differing) == 1 else 'differ'} between runs: if that "
            f"was set, these are {len(settings)} settings in {len(runs)} runs, which are no identical runs. "
            f"{option} {typed_word(first + value)} {'takes one' if value else 'makes an experiment of each'}."
        )
    elif stems := _recipes(runs):
        yield (
            f"The names of the runs show {len(stems)} recipes ({some_of(stems, MOST_VALUES)}): if they are, these are "
            "no identical runs. Import one after the other."
        )


def differing_settings(runs: Sequence[ForeignRun]) -> dict[str, list[str]]:
    """Return the settings that differ between runs, each with its values."""
    return {name: values for name in _names(runs) if len(values := _values(name, runs)) > 1}


def _alike(word: str) -> str | float:
    """Return what two ways to write one value have in common: ``True`` and ``true``, ``1`` and ``1.0``."""
    value = number(word)
    return word.lower() if value is None or math.isnan(value) else value


def _names(runs: Sequence[ForeignRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.settings))


def _values(name: str, runs: Sequence[ForeignRun]) -> list[str]:
    """Return the values that make a setting; none where they are another in each run for another reason."""
    written = [run.settings[name] for run in runs if name in run.settings]
    first = {_alike(word): word for word in reversed(written)}
    words = [first[_alike(word)] for word in written]
    times = Counter(words)
    if is_run_name(name) or not _OWN.isdisjoint(words_of(name)) or any(is_moment(word) for word in words):
        return []
    if is_setting(name):
        return list(times)
    values = [number(word) for word in words]
    if _are_chosen([value for value in values if value is not None]) and None not in values:
        return list(times)
    is_of_words = all(value is None for value in values)
    shared = len(times) < len(words) if is_of_words else min(times.values(), default=0) > 1
    return list(times) if shared else []


def _are_chosen(values: Sequence[float]) -> bool:
    """Tell whether numbers look chosen by hand: powers of two, or three and more at equal distances."""
    if all(value > 1 and math.log2(value).is_integer() for value in values):
        return True
    steps = {round(later - earlier, 9) for earlier, later in pairwise(sorted(set(values)))}
    return len(set(values)) > 2 and len(steps) == 1


def _recipes(runs: Sequence[ForeignRun]) -> list[str]:
    """Return the recipes that the names of runs tell: their words without numbers and seeds.

    They tell some if at least half of the runs have a word that some of the others have, and not all. Two words that a
    tracker drew (``silent-river-12``) are none.
    """
    if all(_DRAWN.fullmatch(run.label) for run in runs):
        return []
    names = [_words_in(run.label) for run in runs]
    times = Counter(word for name in names for word in set(name))
    telling = {word for word, count in times.items() if 1 < count < len(names)}
    recipes = dict.fromkeys(" ".join(name) for name in names)
    return list(recipes) if len(recipes) > 1 and 2 * sum(not telling.isdisjoint(n) for n in names) >= len(names) else []


#: Names that wandb and MLflow give runs.
_DRAWN = re.compile(r"[a-z]+-[a-z]+-\d+")

_OF_A_RUN = re.compile(r"(?:seed|run|row|trial|training|version|s|r)?\d*", re.IGNORECASE)


def _words_in(label: str) -> list[str]:
    parts = re.split(r"[\W_]+", re.sub(r"\.[a-z]{2,5}\b", "", label))
    return [part for part in parts if not _OF_A_RUN.fullmatch(part)]
