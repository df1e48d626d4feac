"""What the numbers that runs printed are: metrics, the clock or the count of a log, or something else and why.

Settings that a program lists are none: a search prints those that it draws, so that runs differ in them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.lexicon.words import (
    POSITIONS,
    UNNAMED,
    Meaning,
    is_bookkeeping,
    is_counting,
    is_digest,
    is_forecast,
    is_in_settings,
    is_metric_word,
    is_schedule,
    is_time_or_rate,
    meaning_of,
    word_lists,
    words_of,
)
from deviate.observe.metrics import MACHINES
from deviate.observe.output.files import data_slots
from deviate.observe.output.names import DURATIONS, RATES
from deviate.observe.output.slots import Slot, SlotSeries
from deviate.observe.output.templates import LIST, NUMBER, TIME
from deviate.observe.output.text import read_number

#: Kinds of lines and lines of a run from which on numbers that go up are no chance: five go up by chance once in 120.
FEWEST_TEMPLATES, FEWEST_LINES = 3, 5

Key = tuple[str, str, int]


def leading_clocks(runs: Mapping[str, Sequence[SlotSeries]]) -> set[Key]:
    """Return the slots that lead lines of several kinds, and whose numbers never go down from line to line in any run.

    `runs` are what each run of a variant printed.
    """
    sources = {each.slot.source for series in runs.values() for each in series if _leads(each)}
    return {key for source in sources for key in _of_source(source, list(runs.values()))}


def _leads(series: SlotSeries) -> bool:
    """Whether nothing but marks and blanks stand before the number."""
    before = series.slot.template.split(NUMBER)[0]
    return series.slot.position == 0 and not series.slot.exact and re.search(r"\w|⟨", before) is None


def _of_source(source: str, runs: Sequence[Sequence[SlotSeries]]) -> set[Key]:
    leading = [[each for each in series if each.slot.source == source and _leads(each)] for series in runs]
    # A run whose files are missing changes nothing.
    leading = [series for series in leading if series]
    return {each.slot.key for series in leading for each in series} if all(map(_goes_up, leading)) else set()


def _goes_up(series: Sequence[SlotSeries]) -> bool:
    if len(series) < FEWEST_TEMPLATES:
        return False
    order = np.argsort(np.concatenate([each.offsets for each in series]), kind="stable")
    values = np.concatenate([each.values for each in series])[order]
    return len(values) >= FEWEST_LINES and values[-1] > values[0] and bool(np.all(values[1:] >= values[:-1]))


# Numbers that depend on the clock, the process or the load of the machine, told by how they behave.

#: Why such a number is no metric.
OF_LOAD = "runs that agree in all else that they computed differ in it: clock, process or load"

Floats = NDArray[np.float64]


def load_slots(
    by_run: Mapping[str, Sequence[SlotSeries]],
    recorded: Mapping[str, Mapping[str, Floats]],
    machines: Collection[str],
) -> set[tuple[str, str, int]]:
    """Return the keys of slots without a metric's name in which runs differ that are equal in all that they computed.

    What they computed are the recorded metrics but `machines`, which measure time or memory, and the printed numbers
    with the name of a loss or a quality. Numbers that never change prove nothing.
    """
    alike: dict[bytes, list[str]] = {}
    for run, series in by_run.items():
        computed = [*_recorded(recorded.get(run, {}), machines), *_printed(series)]
        if not all(np.array_equal(values[1:], values[:-1], equal_nan=True) for _, values in computed):
            alike.setdefault(_digest(computed), []).append(run)
    return {key for runs in alike.values() for key in _differing([by_run[run] for run in runs])}


def _recorded(values: Mapping[str, Floats], machines: Collection[str]) -> Iterator[tuple[str, Floats]]:
    return ((name, values[name]) for name in sorted(values) if name not in machines)


def _printed(series: Sequence[SlotSeries]) -> Iterator[tuple[str, Floats]]:
    named = {repr(each.slot.key): each.values for each in series if _is_quality(each)}
    return ((key, named[key]) for key in sorted(named))


def _is_quality(series: SlotSeries) -> bool:
    meaning = meaning_of(series.slot.words)
    return meaning is not None and meaning.kind not in MACHINES and is_metric_word(series.slot.words)


def _digest(computed: Sequence[tuple[str, Floats]]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, values in computed:
        digest.update(name.encode() + b"\0" + values.tobytes())
    return digest.digest()


def _differing(runs: Sequence[Sequence[SlotSeries]]) -> set[tuple[str, str, int]]:
    values: dict[tuple[str, str, int], set[bytes]] = {}
    for series in runs:
        for each in series:
            if meaning_of(each.slot.words) is None:
                values.setdefault(each.slot.key, set()).add(each.values.tobytes())
    return {key for key, seen in values.items() if len(seen) > 1}


JudgedKind = Literal[
    "metric", "counter", "setting", "constant", "time of day", "progress", "identifier", "total", "data", "load",
    "unnamed",
]  # fmt: skip

_LISTS = word_lists("judge")
_UNITS_OF_COST = DURATIONS | RATES
_UNITS_OF_MEMORY = _LISTS["units of memory"]

#: Clock readings since 1970, in seconds: of the years 2001 to 2065. Programs print them in ms, µs and ns as well.
FIRST_CLOCK, LAST_CLOCK = 1e9, 3e9
CLOCK_UNITS = (1.0, 1e3, 1e6, 1e9)

#: Whole numbers with as many digits name things: addresses of objects have 13 to 15, hashes 18 or more.
IDENTIFIER_DIGITS = 12


#: Why a number that never changes is none, though words name it.
IN_LABEL = "it stands in the name of the number behind it"


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What a slot is, over all runs of a variant."""

    #: As the run has it that has most slots, or else the first of the others.
    slot: Slot
    kind: JudgedKind
    #: One line.
    reason: str
    #: Whether two runs differ at the same occurrence, or in how often they have the slot.
    varies: bool
    #: Whether values differ within a run.
    varies_within: bool
    #: Runs that have the slot.
    runs: int
    #: Of a metric: its kind and direction, by its name and unit.
    meaning: Meaning | None = None


class _Seen(msgspec.Struct, frozen=True):
    """All that was printed in a slot, one array for each run that has it."""

    slot: Slot
    values: list[Floats]
    varies: bool
    varies_within: bool
    #: Whether it leads lines of all kinds, and only goes up.
    leads: bool
    #: Why it is a setting if the program lists it as one, and empty where it does not.
    setting: str

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return all(bool(np.all(np.isfinite(run) & (run == np.floor(run)))) for run in self.values)

    @property
    def ascends(self) -> bool:
        """Whether no value is below the one before it, in all runs, but for new beginnings at the first one."""
        return all(_ascends(run) for run in self.values)


def judge(runs: Mapping[str, Sequence[SlotSeries]]) -> list[Judged]:
    """Say what each slot of the runs of one variant is.

    Parameters
    ----------
    runs : mapping from str to sequence of SlotSeries
        What each run printed. Slots of different runs are one where source, template and position are equal.

    Returns
    -------
    list of Judged
        In the order of the run that has most of them, then that of the others: a run whose files are missing changes
        nothing.
    """
    slots: dict[tuple[str, str, int], list[SlotSeries]] = {}
    for series in sorted(runs.values(), key=len, reverse=True):
        for one in series:
            slots.setdefault(one.slot.key, []).append(one)
    clocks = leading_clocks(runs)
    data = data_slots((series[0].slot, max(len(one.values) for one in series)) for series in slots.values())
    settings = listed_settings(series[0].slot for series in slots.values())
    return [
        _judged(_seen(series, leads=key in clocks, setting=settings.get(key, "")), data.get(key, ""))
        for key, series in slots.items()
    ]


def _seen(series: Sequence[SlotSeries], *, leads: bool, setting: str) -> _Seen:
    values = [one.values for one in series]
    return _Seen(
        series[0].slot,
        values,
        varies=any(_differ(values[0], other) for other in values[1:]),
        varies_within=any(_differ(run[:1].repeat(len(run)), run) for run in values),
        leads=leads,
        setting=setting,
    )


def _differ(one: Floats, other: Floats) -> bool:
    shared = min(len(one), len(other))
    return not np.array_equal(one[:shared], other[:shared], equal_nan=True)


def _judged(seen: _Seen, data: str) -> Judged:
    kind, reason = _verdict(seen, data)
    return Judged(
        slot=seen.slot,
        kind=kind,
        reason=reason,
        varies=seen.varies,
        varies_within=seen.varies_within,
        runs=len(seen.values),
        meaning=meaning_of_slot(seen.slot) if kind == "metric" else None,
    )


def _verdict(seen: _Seen, data: str) -> tuple[JudgedKind, str]:
    """Say what a slot is, whether or not runs differ in it; what is left is a metric or not by whether it varies.

    `data` is why it is no metric if it holds data, and empty where it does not.
    """
    name = seen.slot.words
    if seen.slot.role == "progress":
        return "progress", "a progress bar says how far it is"
    if _is_clock(seen):
        return "time of day", "seconds since 1970"
    if seen.leads:
        return "counter", "it leads lines of several kinds and never goes down, as the clock of a log"
    words = set(words_of(name))
    if is_forecast(name, is_time=_is_time(seen.slot)):
        return "progress", "an estimate of the time left"
    if _is_of_log(seen):
        return "identifier", "a whole number in front of a log message"
    changes = seen.varies or seen.varies_within
    is_of_process = "rank" in words and words <= _LISTS["process"]
    is_numbered = bool(words & _LISTS["identifiers"]) or is_of_process or bool(words and words <= _LISTS["answers"])
    if is_numbered and changes and seen.whole and not is_metric_word(name):
        return "identifier", "the name is of an identifier"
    # The number of the class is no part of the name: ``Accuracy of class 3: 97% (33/34)``.
    is_shown_whole = seen.whole and not seen.slot.decimals
    if seen.varies_within and is_shown_whole and name.removesuffix(" (in brackets)").endswith(" class"):
        return "identifier", "the name is of an identifier"
    if is_digest(name):
        return "identifier", "a number that tells whether two things are the same"
    if _is_placeholder(seen):
        return "constant", "what Lightning logs where the program gives no metric of its settings"
    if changes and _is_long(seen):
        return "identifier", f"whole numbers of {IDENTIFIER_DIGITS} digits or more: addresses, hashes"
    if seen.slot.role == "total" and not seen.varies:
        return "total", "the whole of a fraction, equal in all runs"
    if seen.slot.role == "padded" and seen.whole and not is_metric_word(name) and not seen.slot.unit:
        return ("counter" if seen.varies_within and seen.ascends else "identifier"), "whole numbers padded with zeros"
    if _is_counter(seen):
        return "counter", "rising numbers with the name of a counter"
    if is_schedule(name):
        return "setting", "the name is of a schedule or setting"
    if seen.setting or is_in_settings(name):
        return "setting", seen.setting or INSIDE
    if data:
        return "data", data
    if seen.varies:
        return "metric", "runs differ in it"
    return _of_equal_runs(seen)


def _of_equal_runs(seen: _Seen) -> tuple[JudgedKind, str]:
    """Judge a slot whose values are the same in all runs, or of which there is one run."""
    name = seen.slot.words
    is_metric = is_metric_word(name) and not is_bookkeeping(name)
    if not seen.varies_within:
        if not _LISTS["settings"].isdisjoint(words_of(name)):
            return "setting", "one value in all runs, and the name is of a setting"
        # A number of steps, whatever else its name has: ``gradient_accumulation_steps``, ``Loss at 299: 0.21``.
        is_count = seen.whole and seen.slot.decimals == 0 and meaning_of_slot(seen.slot).kind == "loss"
        if _is_in_label(seen.slot):
            return "constant", IN_LABEL
        if is_metric and not is_count and not _is_entry(seen) and POSITIONS.isdisjoint(words_of(name)[-1:]):
            return "metric", "the name is of a metric, though it was equal in all runs"
        return "constant", "one value in all runs" if len(seen.values) > 1 else "one value in the only run that has it"
    if _counts_evenly(seen):
        return "counter", "whole numbers in even steps"
    if is_metric or _is_statistic(name) or not seen.whole or _unit_costs(seen.slot):
        return "metric", "it varies within a run" + (", and the name is of a metric" if is_metric else "")
    if is_counting(name):
        return "counter", "whole numbers with the name of a counter"
    if len(seen.values) > 1:
        return "constant", "the same whole numbers in all runs, and no name of a metric"
    return "metric", "it varies within a run"


def _is_in_label(slot: Slot) -> bool:
    """Whether nothing but marks stands between the number and the colon of the next one: ``F1 @ 0.5: 0.82``."""
    behind = _around(slot)[1]
    return re.match(rf"(?:[^\w,;|⟨]*{NUMBER})?[^\w,;|⟨]*[:=]\s*{NUMBER}", behind) is not None


def _is_entry(seen: _Seen) -> bool:
    """Whether it is a whole number that only what it stands under names like a metric: ``{"stoi": {"a": 27}}``."""
    template, key = seen.slot.template, seen.slot.template.rpartition("/")[2]
    is_alone = NUMBER not in template and "/" in template and all(len(run) == 1 for run in seen.values)
    return is_alone and seen.slot.decimals == 0 and not is_metric_word(key)


def _is_time(slot: Slot) -> bool:
    return slot.unit in DURATIONS or is_time_or_rate(slot.words)


def _is_placeholder(seen: _Seen) -> bool:
    return seen.slot.words.rpartition("/")[2] == "hp_metric" and all(bool(np.all(run == -1)) for run in seen.values)


def _is_of_log(seen: _Seen) -> bool:
    """Whether a number stands between the time and the message of a log: the process or thread."""
    before, behind = _around(seen.slot)
    in_front = TIME in before and not re.search(r"[^\W\d_]", before.replace(TIME, "").replace("pid", ""))
    return (
        not seen.slot.words
        and seen.whole
        and (in_front or re.match(r"\W*\b(?:INFO|DEBUG|WARN|ERR)", behind) is not None)
    )


def _around(slot: Slot) -> tuple[str, str]:
    """Return the text of a template before and behind a slot."""
    parts = slot.template.split(NUMBER)
    return NUMBER.join(parts[: slot.position + 1]), NUMBER.join(parts[slot.position + 1 :])


def _is_long(seen: _Seen) -> bool:
    """Whether all values are long whole numbers without a unit, and the name is none of a metric."""
    if seen.slot.decimals != 0 or seen.slot.unit or is_metric_word(seen.slot.words):
        return False
    return all(bool(np.all(np.abs(run) >= 10.0 ** (IDENTIFIER_DIGITS - 1))) for run in seen.values)


def _is_clock(seen: _Seen) -> bool:
    low = min(float(run.min(initial=np.inf)) for run in seen.values)
    high = max(float(run.max(initial=-np.inf)) for run in seen.values)
    in_years = any(FIRST_CLOCK * unit <= low and high <= LAST_CLOCK * unit for unit in CLOCK_UNITS)
    return in_years and seen.ascends and not is_metric_word(re.sub(r"\btimes?\b", "", seen.slot.words))


def _is_counter(seen: _Seen) -> bool:
    """Whether a slot counts by its name and by its values, in whatever steps each run counts."""
    name = seen.slot.words
    # Trainers print parts of an epoch: 0.5, 1.0.
    counts = is_bookkeeping(name) or (is_counting(name) and seen.whole)
    may_count = counts and not is_metric_word(name) and not _is_statistic(name) and not _unit_costs(seen.slot)
    in_turn = seen.ascends or not seen.varies or all(map(_is_of_several, seen.values))
    return may_count and seen.varies_within and in_turn


def _is_statistic(name: str) -> bool:
    """Whether a name is of what is computed of many values: ``size max``."""
    return not _LISTS["statistics"].isdisjoint(words_of(name)[-1:])


def _ascends(values: Floats) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.all((values[1:] >= values[:-1]) | (np.abs(values[1:] - values[0]) <= 1)))


def _is_of_several(values: Floats) -> bool:
    """Whether each number of an even count comes equally often, as where processes that count alike write in turn."""
    numbers, times = np.unique(values, return_counts=True)
    return (
        len(numbers) > 1 and times[0] > 1 and bool(np.all(times == times[0])) and len(np.unique(np.diff(numbers))) == 1
    )


def _counts_evenly(seen: _Seen) -> bool:
    """Whether all values are whole and follow one another in one step, but for new beginnings."""
    for run in seen.values:
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.diff(run)
        onward = steps[steps != 0]
        if len(np.unique(run)) < 3 or not np.all(run == np.floor(run)):
            return False
        ahead = onward[onward > 0]
        if len(ahead) < 2 or np.any(ahead != ahead[0]) or bool(np.any(run[1:][steps < 0] > run[0] + ahead[0])):
            return False
    return True


def _unit_costs(slot: Slot) -> bool:
    return slot.unit in _UNITS_OF_COST or slot.unit in _UNITS_OF_MEMORY


def meaning_of_slot(slot: Slot) -> Meaning:
    """Return kind and direction by the unit, where that is of a time, a rate or memory, else by the name."""
    by_name = meaning_of(slot.words)
    if slot.unit in _UNITS_OF_COST and (by_name is None or by_name.kind != "loss"):
        per_second = slot.unit.endswith(("/s", "/sec", "fps"))
        return Meaning("speed", "higher" if per_second else "lower")
    if slot.unit in _UNITS_OF_MEMORY:
        return Meaning("resource", "lower")
    return by_name or UNNAMED


INSIDE = "it stands in a list of settings"
OBJECT = "it stands in the text of an object"
NAMED = "the name is in a list of settings that the program prints"

_HEADS = word_lists("listings")["heads of lists"]
_BRACKET = re.compile(r"[\[({]|[\])}]")
_FIELD = re.compile(f"{NUMBER}|{LIST}")
#: A line of a printed model, ``(norm): LayerNorm(``, or of the table of its layers, ``1 | acc | BinaryAccuracy | 0``.
_LAYER = re.compile(
    rf"\((?:\w[\w.]*|{NUMBER})\): [A-Z]\w*\("
    rf"|[│|]? ?{NUMBER} ?[│|] ?\w[\w.]* ?[│|] ?[A-Z](?=\w*[A-Z])(?=\w*[a-z])\w* ?[│|]"
)
#: The first numbers in the text of an object, and settings behind them: ``LayerNorm((96,), eps=1e-05)``.
_CLASS = re.compile(rf"\b[A-Z](?=\w*[a-z])\w*[A-Z]\w*\(\(?(?:{NUMBER}, ?)*$")
_SETTINGS_BEHIND = re.compile(rf"{NUMBER}(?:,? ?{NUMBER})*,?\)?, ?\w+=")
#: Characters before a bracket in which its head is looked for.
_REACH = 40


def listed_settings(slots: Iterable[Slot]) -> dict[Key, str]:
    """Return the slots that show settings, with the reason: those in a list of them, and others with their names.

    What is better when it is higher or lower by its name is none, but for the numbers of a layer, which have its name.
    """
    slots = list(slots)
    objects = {slot.key: OBJECT for slot in slots if _in_object(slot)}
    every = [slot for slot in slots if not _is_judged_by_name(slot.words)]
    inside = {slot.key for slot in every if _in_list(slot)}
    names = {slot.words for slot in every if slot.key in inside and slot.words}
    return objects | {
        slot.key: INSIDE if slot.key in inside else NAMED for slot in every if slot.key in inside or slot.words in names
    }


def _in_object(slot: Slot) -> bool:
    """Whether a slot stands in a line of a printed model, or is what an object was made with."""
    before = _before(slot)
    is_first = _CLASS.search(before) is not None and _SETTINGS_BEHIND.match(slot.template, len(before)) is not None
    return is_first or _LAYER.match(slot.template) is not None


def _is_judged_by_name(words: str) -> bool:
    meaning = meaning_of(words)
    return meaning is not None and meaning.direction is not None


def _in_list(slot: Slot) -> bool:
    """Whether a slot stands in brackets that are headed by a word for settings: ``parameters: {'depth': 3``."""
    before = _before(slot)
    opened: list[int] = []
    for bracket in _BRACKET.finditer(before):
        if bracket[0] in "[({":
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    return any(_is_headed(before[max(0, at - _REACH) : at]) for at in opened)


def _before(slot: Slot) -> str:
    """Return the text of a template before a slot; items of lists have positions of their own."""
    fields = [field.start() for field in _FIELD.finditer(slot.template)]
    return slot.template[: fields[min(slot.position, len(fields) - 1)]] if fields else ""


def _is_headed(text: str) -> bool:
    """Whether the last word before a bracket, or the one before it, is for settings: ``args: Namespace(``."""
    ends = re.search(r"(?:(\w+)['\"]?\s*[:=]\s*)?(\w*)['\"]?\s*[:=]?\s*$", text)
    words = [word for word in (ends.groups() if ends else ()) if word]
    return any(not _HEADS.isdisjoint(words_of(word)[-1:]) for word in words)


# Settings among the values of a mapping: ``results = {"accuracy": 0.9, "learning_rate": 0.1}``.

_SETTINGS = word_lists("judge")["settings"]


def options_given(command: Sequence[str]) -> dict[str, float]:
    """Return the numbers that a command gives to options, by their names.

    >>> options_given(["python", "train.py", "--top-k", "20", "--lr=0.1", "depth=3"])
    {'top_k': 20.0, 'lr': 0.1, 'depth': 3.0}
    """
    followed = zip(command, [*command[1:], ""], strict=True)
    pairs = (word.partition("=")[::2] if "=" in word else (word, after) for word, after in followed)
    found = ((name.lstrip("-").replace("-", "_").rpartition(".")[2], read_number(text)) for name, text in pairs)
    return {name: number[0] for name, number in found if name and number is not None}


def is_setting(name: str, value: float, given: Mapping[str, float]) -> bool:
    """Tell whether a number that never changes is a setting: by its name, or since the command gives it.

    `given` are the numbers of the command, see `options_given`.
    """
    own = name.rpartition("/")[2]
    if given.get(own.replace("-", "_")) == value or is_in_settings(name):
        return True
    return not is_metric_word(name) and (is_schedule(own) or not _SETTINGS.isdisjoint(words_of(own)))
