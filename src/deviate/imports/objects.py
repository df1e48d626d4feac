"""Read JSON into rows of words, in the shapes in which trainings write it."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import yaml

from deviate.core.errors import NotImportable
from deviate.imports.roles import is_counter, is_run_name, is_setting, rank_correlation
from deviate.imports.rows import MOST_COLUMNS, SUMMARIES, Row, check_cells, flat, number, present, text_of
from deviate.lexicon.words import is_in_settings, is_time_or_rate, meaning_of, split_of, words_of
from deviate.source.configurations import compose_yaml

#: Before each object of a log of MLPerf.
MLPERF = ":::MLLOG "

#: The values of a longer list have no names of their own.
MOST_LISTED = 32

#: A name that ends in a number: ``seed_3``, ``epoch 12``, ``lr0.1``.
_NUMBERED = re.compile(r"(.*?)[ _=-]?((?<![\d.])\d+(?:\.\d+)?(?:e[-+]?\d+)?)", re.IGNORECASE)


def json_rows(path: Path) -> list[Row]:
    """Return the rows of a JSON file, or of one in YAML.

    It may hold a list of objects, an object a line, an object of lists (a Keras history) or of objects with lists
    (Sacred), one with a list of objects in it (``log_history`` of a Hugging Face trainer), one with an object for
    each run, or a list of objects of lists (the curve of each run).

    Raises NotImportable if it is none of these.
    """
    try:
        rows = [present((name, _word(value)) for name, value in _leaves(item).items()) for item in _items(path)]
    except (RecursionError, MemoryError) as error:
        raise NotImportable(f"{path} is nested too deeply", hint="expected a list of objects") from error
    columns = len({name for row in rows for name in row})
    if columns > MOST_COLUMNS:
        raise NotImportable(
            f"{path} has {columns:,} names of values; at most {MOST_COLUMNS:,} are read",
            hint=f"keep those that matter: jq -c 'map_values(scalars)' {path.name} > some.jsonl",
        )
    if not any(rows):
        raise NotImportable(f"{path} holds no row of values", hint="expected a list of objects, or an object a line")
    return rows


def _items(path: Path) -> list[Any]:
    text = text_of(path)
    check_cells(path, text, "[{,")
    if path.suffix.lower() in YAML:
        return _rows_of(yaml_value(text, path), path.stem)
    try:
        whole = _plain(parsed(text, path)) if '"py/' in text else parsed(text, path)
    except ValueError as error:
        # A line of ClearML's offline sessions is a list of objects.
        lines = list(_lines(text, path, error))
        rows = [row for line in lines for row in (line if isinstance(line, list) and _are_objects(line) else [line])]
        return _with_set([row for row in rows if isinstance(row, dict)]) if MLPERF in text else rows
    return _rows_of(whole, path.stem)


def _are_objects(values: list[Any]) -> bool:
    return all(isinstance(each, dict) for each in values)


def _plain(value: Any) -> Any:
    """Return a value without what jsonpickle put around its numbers, and without objects that it pickled."""
    if isinstance(value, list):
        return [inside for each in value if (inside := _plain(each)) is not _PICKLED]
    if not isinstance(value, dict):
        return value
    if str(value.get("py/object", "")).startswith("numpy.") and "value" in value:
        return value["value"]
    if any(key.startswith("py/") for key in value):
        return _PICKLED
    return {key: inside for key, each in value.items() if (inside := _plain(each)) is not _PICKLED}


#: In the place of an object that no number can be read of.
_PICKLED = object()


def _leaves(item: Any) -> dict[str, Any]:
    """Return the values in an item by name; those of a short list of numbers by their places in it."""
    leaves: dict[str, Any] = {}
    for name, value in flat(item).items():
        if isinstance(value, list) and len(value) <= MOST_LISTED and _is_series(value):
            leaves.update({f"{name}/{place}": each for place, each in enumerate(value)})
        else:
            leaves[name] = value
    return leaves


#: What each point of a chart holds that TensorBoard gave as JSON.
CHART = ("Wall time", "Step", "Value")


def _rows_of(whole: Any, name: str) -> list[Any]:
    """Return the rows in a value; those of numbers alone are called `name`."""
    if isinstance(whole, list):
        if whole and all(isinstance(item, list) and len(item) == len(CHART) for item in whole):
            return [dict(zip(CHART, item, strict=True)) for item in whole]
        items = [item for item in whole if not isinstance(item, list)]
        return [row for item in items for row in (_unfolded(item) if isinstance(item, dict) else [{name: item}])]
    # A trainer that stopped before it logged anything leaves its settings alone.
    if not isinstance(whole, dict) or whole.get("log_history") == []:
        return []
    if _is_split(whole):
        return [dict(zip(whole["columns"], row, strict=False)) for row in whole["data"]]
    several = {
        key: value for key, value in whole.items() if isinstance(value, list) and value and isinstance(value[0], dict)
    }
    if several:
        longest = max(several.values(), key=len)
        alike = [key for key, value in several.items() if value[0].keys() == longest[0].keys()]
        column = "split" if all(map(split_of, alike)) else KEY
        if len(alike) == 1:
            return longest
        # Where each object is of curves, it is a training.
        return [
            {column: key, **({"run": f"{key} {place}"} if len(rows) > 1 else {}), **each}
            for key in alike
            for place, item in enumerate(several[key])
            for rows in [_unfolded(item)]
            for each in rows
        ]
    for key, value in whole.items():
        if is_run_name(key) and isinstance(value, dict) and (numbered := _numbered_column(value)):
            return [
                {key: word, **row}
                for word, part in zip(numbered[1], value.values(), strict=True)
                for row in _rows_of(part, name)
            ]
    parts, facts = _parts(whole)
    column, words = _numbered_column(parts) or _equal_keys(parts)
    if column:
        return [
            {**facts, column: word, **row}
            for word, value in zip(words, parts.values(), strict=True)
            for row in (_rows_of(value, name) if isinstance(value, dict | list) else [{name: value}])
        ]
    return _unfolded(whole)


#: Items of a list that may be the parts of one value.
MOST_PARTS = 1000


def _unfolded(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object: one, or where lists in it are curves or of runs, those of the lists."""
    told = [key for key, value in whole.items() if isinstance(value, list) and value and _are_objects(value)]
    if len(told) == 1 and any(map(is_counter, whole[told[0]][0])):
        # The epochs of a training stand in a list.
        return [{**whole, told[0]: None, **row} for row in whole[told[0]]]
    leaves = _listed(flat(whole))
    lists = {
        key: value
        for key, value in leaves.items()
        if isinstance(value, list) and _is_series(value) and not is_in_settings(key)
    }
    sums = _summaries(leaves, lists)
    constant = {key: value for key, value in leaves.items() if key not in lists and key not in sums}
    # Beside a result, lists are its parts: the accuracy of each class.
    counted = any(is_counter(key) for key in lists) or _is_history(lists)
    results = [key for key, value in constant.items() if isinstance(value, float) and not is_setting(key)]
    long = next((key for key, value in constant.items() if isinstance(value, list) and len(value) > MOST_PARTS), None)
    if lists and long is not None:
        # Each row would have all of its items.
        raise NotImportable(
            f"{long!r} is a list of {len(constant[long]):,} items beside curves of numbers, and is none",
            hint="write a line for each row, as JSON lines do",
        )
    of_runs = any(is_run_name(key) and len(set(values)) == len(values) > 1 for key, values in lists.items())
    are_as_long = len({len(values) for values in lists.values()}) == 1 < len(lists)
    if of_runs and are_as_long and not counted:
        # A time beside lists of runs is that of all together.
        constant = {key: value for key, value in constant.items() if not is_time_or_rate(key)}
    elif not lists or (results and not counted):
        return [whole]
    return _series_rows(_called_alike(lists) if sums else lists, constant)


def _listed(leaves: dict[str, Any]) -> dict[str, Any]:
    """Make lists of values that are numbered beside their statistics: ``{"0": 0.9, "1": 0.8, "mean": 0.85}``."""
    groups: dict[str, dict[str, Any]] = {}
    for name, value in leaves.items():
        group, _, last = name.rpartition("/")
        groups.setdefault(group, {})[last] = value
    for group, inside in groups.items():
        values = {last: value for last, value in inside.items() if last.isdecimal() and isinstance(value, int | float)}
        sums = {last for last in inside if last.lower() in SUMMARIES}
        if group and len(values) > 1 and sums and not inside.keys() - values.keys() - sums:
            leaves = {
                name: value for name, value in leaves.items() if name not in {f"{group}/{last}" for last in values}
            }
            leaves[f"{group}/values"] = list(values.values())
    return leaves


#: Words of names of lists that hold a value for each part of one result.
_PARTS = frozenset({"class", "classes", "category", "categories", "iou", "ious", "ap", "aps", "layer", "layers"})


#: Words of the number of runs.
_REPEATED = frozenset({"runs", "seeds", "trials", "reps", "repeats", "repetitions", "replicates"})


def _summaries(leaves: dict[str, Any], lists: dict[str, list[Any]]) -> set[str]:
    """Return the names of what summarises a list: its mean, its standard deviation, an end or the number of its items.

    It is that of a list by its name and by its value; with rounded values the name decides where all lists are as long.
    """
    known = [[each for value in values if (each := _number(value)) is not None] for values in lists.values()]
    several = [values for values in known if len(values) > 1]
    of_parts = any(not _PARTS.isdisjoint(words_of(name)) for name in lists)
    if not several or of_parts or len({len(values) for values in lists.values()}) != 1:
        return set()
    return {
        name
        for name, leaf in leaves.items()
        if (value := _number(leaf)) is not None
        and (
            (not SUMMARIES.isdisjoint(words_of(name)) and any(_is_statistic(value, values) for values in several))
            or (not _REPEATED.isdisjoint(words_of(name)) and value == len(several[0]))
        )
    }  # fmt: skip


def _number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return number(value) if isinstance(value, str) else None


def _is_statistic(value: float, values: Sequence[float]) -> bool:
    """Tell whether a number, as it may be rounded, is a statistic of values."""
    spread = max(values) - min(values)
    size = len(values)
    of = (
        *(statistics.fmean(values), statistics.median(values), min(values), max(values), spread),
        *(
            root
            for sd in (statistics.stdev(values), statistics.pstdev(values))
            for root in (sd, sd * sd, sd / size**0.5)
        ),
        size,
    )
    near = 0.02 * spread + 1e-9 * max(map(abs, values))
    return any(abs(value - one) <= near or abs(value - 100 * one) <= 100 * near for one in of)


def _called_alike(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Call lists by their groups where each is the only one of its group: ``{"acc": {"values": […], "mean": …}}``."""
    groups = [key.rpartition("/") for key in lists]
    are_alone = all(group for group, _, _ in groups) and len({group for group, _, _ in groups}) == len(lists) > 0
    if not are_alone or len({last for _, _, last in groups}) > 1:
        return lists
    return {group: values for (group, _, _), values in zip(groups, lists.values(), strict=True)}


def _is_split(whole: dict[str, Any]) -> bool:
    """Tell whether an object has the names of columns apart from its rows: tables of wandb and pandas."""
    columns, rows = whole.get("columns"), whole.get("data")
    is_head = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    return is_head and isinstance(rows, list) and all(isinstance(row, list) for row in rows)


def _parts(whole: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an object without what summarises its parts, and without settings and words beside numbered ones.

    The second is what all parts have in common.
    """
    parts = {key: value for key, value in whole.items() if key.lower() not in SUMMARIES}
    numbered = {
        key: value for key, value in parts.items() if (match := _NUMBERED.fullmatch(key)) and is_run_name(match[1])
    }
    if len(numbered) < 2:
        return (parts if len(parts) > 1 and all(isinstance(value, dict) for value in parts.values()) else whole), {}
    rest = flat({key: value for key, value in parts.items() if key not in numbered})
    is_known = all(isinstance(value, str) or is_setting(key) for key, value in rest.items())
    return (numbered, rest) if is_known else (whole, {})


def _numbered_column(whole: dict[str, Any]) -> tuple[str, list[str]] | None:
    """Return what the keys of an object number, and its numbers: ``seed`` of ``{"seed_0": …, "seed_1": …}``.

    Numbers with a point, and those of a setting, were set: ``lr`` of ``{"lr_0.1": …, "lr_0.01": …}``.
    """
    parts = [_NUMBERED.fullmatch(key) for key in whole]
    stems = {match[1] if match else None for match in parts}
    if len(whole) < 2 or len(stems) != 1 or None in stems:
        return None
    stem, words = str(stems.pop()), [match[2] for match in parts if match]
    if not all(map(str.isdecimal, words)) or is_setting(stem):
        is_known = meaning_of(stem) is not None and not is_setting(stem)
        return None if is_known else (f"{SET}{stem or KEY}", words)
    return (
        (stem if is_run_name(stem) or is_counter(stem) else "number", words)
        if not stem or (is_run_name(stem) or is_counter(stem))
        else None
    )


#: Before the name of a setting that stands in a key or in the name of a file, and what a nameless one is called.
SET, KEY = "config/", "key"


def _equal_keys(whole: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the keys of an object whose values are objects with equal keys of results: recipes, data sets or classes.

    Those of splits, and of metrics with their statistics, are parts of one result.
    """
    inside = list(whole.values())
    if len(inside) < 2 or not all(isinstance(value, dict) and value for value in inside):
        return "", []
    names = {tuple(sorted(flat(value))) for value in inside}
    of_parts = [key for key in whole if split_of(key) or meaning_of(key) is not None or is_setting(key)]
    if len(names) != 1 or len(of_parts) == len(whole):
        return "", []
    own = {name.rpartition("/")[2] for name in names.pop()}
    is_of_results = any(meaning_of(name) is not None or name in SUMMARIES for name in own) and "values" not in own
    is_of_several = len(inside) > 2 and len(own) > 2 and not any(map(is_setting, own))
    return (KEY, list(whole)) if is_of_results or is_of_several else ("", [])


def _is_series(values: list[Any]) -> bool:
    is_flat = not any(isinstance(value, dict | list) for value in values)
    is_of_words = bool(values) and all(isinstance(value, str) and number(value) is not None for value in values)
    return is_flat and (
        is_of_words or any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    )


def _series_rows(lists: dict[str, list[Any]], constant: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns that stand one after the other.

    A group of them with a counter of its own, ``{"acc": {"steps": […], "values": […]}}``, is one metric.
    """
    groups: dict[str, dict[str, list[Any]]] = {}
    for key, values in lists.items():
        group, _, last = key.rpartition("/")
        groups.setdefault(group, {})[last] = values
    if all(group and "values" in columns for group, columns in groups.items()):
        # What stands beside values and is no number, as their times do, is not of each row.
        constant = {key: value for key, value in constant.items() if key.rpartition("/")[0] not in groups}
        return [
            {**constant, "metric": group, **{_SINGULAR.get(key, key): value for key, value in row.items()}}
            for group, columns in groups.items()
            for row in _transposed(columns)
        ]
    counted = {key: lists[f"{key}_T"] for key in lists if len(lists.get(f"{key}_T", [])) == len(lists[key])}
    if counted and all(key in counted or key.endswith("_T") for key in lists):
        return [
            {**constant, "metric": key, "step": step, "value": value}
            for key, steps in counted.items()
            for step, value in zip(steps, lists[key], strict=True)
        ]
    rows = _transposed(lists)
    counts = not any(is_counter(key) or _is_axis(values) for key, values in lists.items()) and _is_history(lists)
    return [{**({"epoch": index} if counts else {}), **constant, **row} for index, row in enumerate(rows)]


def _is_axis(values: list[Any]) -> bool:
    """Tell whether values rise evenly: those beside them are counted by them."""
    numbers = [value for value in values if isinstance(value, int | float)]
    steps = {round(later - earlier, 9) for earlier, later in pairwise(numbers)}
    return len(numbers) == len(values) > 2 and len(steps) == 1 and min(steps) > 0


_SINGULAR = {"values": "value", "steps": "step", "epochs": "epoch"}


def _is_history(lists: dict[str, list[Any]]) -> bool:
    """Tell whether lists are the curves of one training: its loss falls, or it has a metric of two splits."""
    names = {key.rpartition("/")[2] for key in lists}
    if any(f"val_{name}" in names for name in names):
        return True
    for key, values in lists.items():
        meaning = meaning_of(key)
        numbers = [value for value in values if isinstance(value, int | float)]
        if meaning is not None and meaning.kind == "loss" and len(numbers) > 1 and numbers[-1] < numbers[0]:
            return rank_correlation(range(len(numbers)), numbers) < _FALLS
    return False


#: Rank correlation with their order below which the values of a loss fall as they do in a training.
_FALLS = -0.7


def _transposed(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    longest = max(map(len, columns.values()))
    return [{key: values[index] for key, values in columns.items() if index < len(values)} for index in range(longest)]


def _lines(text: str, path: Path, of_whole: ValueError) -> Iterator[Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    of_mlperf = any(MLPERF in line for line in lines)
    if of_mlperf:
        lines = [line.partition(MLPERF)[2] for line in lines if MLPERF in line]
    for line_number, line in enumerate(lines, 1):
        try:
            row = parsed(line, path)
            yield _reported(row) if of_mlperf and isinstance(row, dict) else row
        except ValueError as error:
            if line_number == len(lines) and line_number > 1:
                # The torn end of a file that was being written.
                return
            # Where the first line is no object, the file is none of an object a line.
            place, why = (path, of_whole) if line_number == 1 else (f"{path}:{line_number}", error)
            raise NotImportable(
                f"{place} is no JSON: {why}", hint="expected a JSON file, or an object a line"
            ) from error


def _reported(event: dict[str, Any]) -> dict[str, Any]:
    """Return what an event of MLPERF reports, without the line of the source that wrote it."""
    metadata = event.get("metadata")
    counted = metadata.items() if isinstance(metadata, dict) else ()
    return {
        **{name: event[name] for name in ("key", "value") if name in event},
        **{name: value for name, value in counted if name not in ("file", "lineno")},
    }


#: Fewer events of one key at one epoch may be the parts of one.
FEWEST_EVENTS = 3


def _with_set(events: list[dict[str, Any]]) -> list[Any]:
    """Give events of MLPERF what was set: what stands with one value before the first event that is counted."""
    first = next((place for place, event in enumerate(events) if any(map(is_counter, event))), 0)
    values: dict[str, list[Any]] = {}
    for event in events[:first]:
        values.setdefault(str(event.get("key")), []).append(event.get("value"))
    facts = {
        f"{SET}{key}": each[0]
        for key, each in values.items()
        if isinstance(each[0], str | int | float) and all(value == each[0] for value in each)
    }
    rest = [event for place, event in enumerate(events) if place >= first or f"{SET}{event.get('key')}" not in facts]
    counts: dict[str, list[list[Any]]] = {}
    for event in rest:
        at = [value for name, value in event.items() if is_counter(name) and event.get("value") is not None]
        counts.setdefault(str(event.get("key")), []).append(at)
    # Where all of one key are of one epoch, they follow one another.
    stands = any(each[0] and len(each) > FEWEST_EVENTS and each.count(each[0]) == len(each) for each in counts.values())
    places = {key: count() for key in counts}
    steps = [{"step": next(places[str(event.get("key"))])} if stands else {} for event in rest]
    return [{**facts, **step, **event} for step, event in zip(steps, rest, strict=True)]


def _word(value: object) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)


# What texts in JSON and YAML hold.

#: Endings of the names of YAML files.
YAML = (".yaml", ".yml")

#: Characters of YAML that are read: a megabyte takes some ten seconds.
MOST_YAML = 2 << 20

_INTEGER, _FLOAT, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "null"))


def parsed(text: str, path: Path) -> Any:
    """Return what a JSON text holds.

    Raises ValueError if it is no JSON. Raises NotImportable if an object has two values under one name: Python would
    keep the last in silence.
    """
    return json.loads(text, object_pairs_hook=partial(_object, path))


def _object(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) < len(pairs):
        name, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise NotImportable(f"{path}: an object has two values of {name!r}", hint="keep one of them")
    return whole


def yaml_value(text: str, path: Path) -> Any:
    """Return what a YAML text holds; its dates and truths are words.

    Raises NotImportable if it is no YAML, is too large, refers to its own parts, or an object has two values under one
    name.
    """
    if len(text) > MOST_YAML:
        raise NotImportable(
            f"{path} has {len(text) / (1 << 20):,.1f} MiB of YAML; at most {MOST_YAML >> 20} are read",
            hint="write it as JSON",
        )
    try:
        node = compose_yaml(text)
    except yaml.YAMLError as error:
        raise NotImportable(f"{path} is no YAML: {error}", hint="expected metrics, each with its values") from error
    return _of_node(node, path, set())


def _of_node(node: yaml.Node | None, path: Path, seen: set[int]) -> Any:
    if isinstance(node, yaml.MappingNode | yaml.SequenceNode):
        if id(node) in seen:
            raise NotImportable(f"{path} refers to its own parts", hint="write them out, or write it as JSON")
        seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        return _object(path, [(str(key.value), _of_node(value, path, seen)) for key, value in node.value])
    if isinstance(node, yaml.SequenceNode):
        return [_of_node(value, path, seen) for value in node.value]
    if node is None or node.tag == _NULL:
        return None
    value = number(node.value) if node.tag in (_INTEGER, _FLOAT) else None
    if value is None:
        return node.value
    return int(value) if node.tag == _INTEGER else value
