"""Settings that stand in the names of files and runs, ``lr0.01.csv``, ``n=64/log.csv``, and in files beside results."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deviate.core.errors import NotImportable
from deviate.imports.foreign import digest_of
from deviate.imports.objects import KEY, SET, YAML, yaml_value
from deviate.imports.roles import FOLDS, is_counter, is_run_name, is_setting
from deviate.imports.rows import Row, alike, flat, present
from deviate.lexicon.words import meaning_of, plain, words_of

#: Files beside results that hold what was set.
CONFIGS = tuple(f"{name}{suffix}" for suffix in (".json", *YAML) for name in ("config", "args", "params", "hparams"))
#: Where Hydra keeps what was set.
HYDRA = ".hydra/config.yaml"

#: A number in a name, and the word before it; ``0p5`` is 0.5. What a letter follows is a part of another word, unless
#: it is a unit: ``355M``.
_VALUE = re.compile(
    r"(?P<name>[A-Za-z]+(?:[_-][A-Za-z]+)*)?(?P<sign>=|[_-]+)?(?P<value>(?<![\d.])"
    r"(?:(?<==)[-+])?(?:(?:\d+(?:\.\d+)?|(?<=[=_-])\.\d+)(?:e[-+]?\d+)?|0p\d+))(?P<unit>[kmb]|pct)?(?![A-Za-z\d])(?!\.\d)",
    re.IGNORECASE,
)
#: Dates, times, versions and hashes, whose numbers say nothing of a setting.
_STAMP = re.compile(
    r"(?<![A-Za-z\d])(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{8,}(?![A-Za-z\d])"
    r"|(?<!\d)(?:(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_.T ]*\d\d[-_.h:]?\d\d(?:[-_.m:]?\d\d(?:\.\d+)?)?)?"
    r"|\d\d[-_.:]\d\d[-_.:]\d\d|\d+\.\d+\.\d+|\d{9,}(?:\.\d+)?)(?!\d)"
)
#: The ending of a file's name.
_ENDING = re.compile(r"\.(?=[A-Za-z])[A-Za-z\d]{1,8}$")
#: The least power of two that tells no run.
FEWEST = 8

#: Words before the number of a run, a part or a version.
_NUMBERED = frozenset({
    "s", "r", "v", "version", "ver", "exp", "experiment", "training", "job", "slurm", "part", "rank", "worker", "gpu",
    "proc", "process", "node", "shard", "checkpoint", "ckpt", "log", "file", "result", "results", "id", "no", "try",
})  # fmt: skip


def settings_in_names(labels: Sequence[str]) -> list[dict[str, str]]:
    """Return what names say was set in each run: numbers that differ between the names.

    A decimal was set, and so was a number behind the name of a setting or behind ``=``. A whole number behind another
    word was if several names share each, while another number tells these apart.
    """
    found = [_numbers(label) for label in labels]
    words = {name: {alike(each[name][0]) for each in found if name in each} for every in found for name in every}
    names = [name for name, several in words.items() if len(several) > 1]
    chosen = [name for name in names if _is_set(name, found, names)]
    return [{f"{SET}{name}": each[name][0] for name in chosen if name in each} for each in found]


def _numbers(label: str) -> dict[str, tuple[str, str]]:
    """Return the numbers in a name, each with the sign before it, by the words before them."""
    numbers: dict[str, tuple[str, str]] = {}
    for place, match in enumerate(_VALUE.finditer(without_stamps(label))):
        word = match["value"].lower()
        word = (word.replace("p", ".", 1) if word.startswith("0p") else word) + (match["unit"] or "")
        name = (match["name"] or "").strip("_-")
        if not match["name"] or _is_numbered(name):
            name = KEY if not word.isdecimal() else name or f"{KEY} {place}"
        if name:
            numbers.setdefault(_called(name), (word, match["sign"] or ""))
    return numbers


def without_stamps(label: str) -> str:
    """Return a name without its ending, and without dates, times, versions and hashes."""
    return _STAMP.sub("@", _ENDING.sub("", label))


def _called(name: str) -> str:
    """Return the end of a name that is a setting's: ``batch_size`` of ``net_batch_size``; else the whole."""
    starts = [0, *(match.end() for match in re.finditer("[_-]", name))]
    return next((name[start:] for start in starts if is_setting(name[start:])), name)


def _is_numbered(name: str) -> bool:
    """Tell whether a number behind a name counts, or tells runs, folds or parts apart."""
    last = (words_of(name) or [""])[-1]
    return is_counter(last) or is_run_name(last) or plain(last) in _NUMBERED or plain(last) in FOLDS


def _is_set(name: str, found: Sequence[Mapping[str, tuple[str, str]]], names: Sequence[str]) -> bool:
    known = [each[name] for each in found if name in each]
    meaning = meaning_of(name)
    is_result = meaning is not None and meaning.direction is not None and not is_setting(name)
    if _is_numbered(name) or is_result:
        return False
    # `net_0.1_128`: the second is none of runs where it is a power of two.
    is_chosen = all(not word.isdecimal() or (int(word) >= FEWEST and int(word).bit_count() == 1) for word, _ in known)
    if name.startswith(KEY) or is_chosen:
        return len(known) == len(found) and is_chosen
    if is_setting(name) or any(not word.isdecimal() or "=" in sign for word, sign in known):
        return True
    # `n100_seed1`, `n100_seed2`, `n200_seed1`, `n200_seed2`.
    by_value: dict[str, list[tuple[tuple[str, str] | None, ...]]] = {}
    for each in found:
        if name in each:
            others = tuple(each.get(other) for other in names if other != name)
            by_value.setdefault(each[name][0], []).append(others)
    return all(len(rest) > 1 and len(set(rest)) == len(rest) for rest in by_value.values())


#: What stands elsewhere in a YAML file.
_ALIAS = re.compile(r"(?<=[:-] )\*\w+$", re.MULTILINE)


def beside(path: Path) -> Row:
    """Return what was set, as a file beside results says; its names begin with ``config/``."""
    for name in (*CONFIGS, HYDRA):
        file = path.parent / name
        if name != path.name and os.path.isfile(file):
            try:
                text = file.read_bytes()[: 1 << 20].decode()
                whole = flat(yaml_value(_ALIAS.sub("", text), file) if file.suffix in YAML else json.loads(text))
            except (ValueError, OSError, RecursionError, NotImportable):
                # What was set is not known, but whether it was the same.
                return {f"{SET}{name}": digest_of([file])}
            words = {key: value for key, value in whole.items() if key and isinstance(value, str | int | float | list)}
            return present((f"{SET}{key}", str(value)) for key, value in words.items())
    return {}


def ended(path: Path) -> Row:
    """Return how a run of Sacred ended, as the file beside its results says."""
    with suppress(ValueError, OSError, RecursionError):
        whole = json.loads((path.parent / "run.json").read_bytes()[: 1 << 20])
        if isinstance(whole, dict) and isinstance(whole.get("status"), str) and path.name != "run.json":
            return {"status": whole["status"]}
    return {}
