"""What the files of a run are called, so that those of other runs are called the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from deviate.collect.observed.templates import IDENTIFIER, TIME

_DATE = r"(?:19|20)\d{2}[-_.]?\d{2}[-_.]?\d{2}|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\d{1,2}"
_CLOCK = r"\d{1,2}[-_.:h]\d{2}[-_.:m]\d{2}"
_SECONDS = r"\d{6,}(?:\.\d+)?"
_STAMP = re.compile(rf"(?<![0-9A-Za-z])(?:(?:{_DATE}|{_CLOCK}|{_SECONDS})[-_T]?)+(?![0-9A-Za-z])")
_HASH = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,})(?![0-9A-Za-z])")


def stable_name(path: str) -> str:
    """Return a path with the time at which a run made it, and its random identifiers, replaced.

    Examples
    --------
    >>> stable_name("runs/Nov22_18-10-16_host/loss"), stable_name("outputs/2026-11-22/18-10-16/train.log")
    ('runs/⟨time⟩_host/loss', 'outputs/⟨time⟩/⟨time⟩/train.log')
    >>> stable_name("lightning_logs/version_0/metrics.csv"), stable_name("fold_12/model_1024.csv")
    ('lightning_logs/version_0/metrics.csv', 'fold_12/model_1024.csv')
    """
    return _STAMP.sub(TIME, _HASH.sub(IDENTIFIER, path))


def stable_names(paths: Iterable[str]) -> list[str]:
    """Return the stable names of paths in the order in which they were made; the second of two equal ones is ``#2``."""
    seen: Counter[str] = Counter()
    names = []
    for path in paths:
        name = stable_name(path)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return names
