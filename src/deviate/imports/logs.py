"""Logs of unknown form: the lines and boxes that name values, and which of the names count."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import NamedTuple

from deviate.imports.patterns import LONGEST_LINE, NUMBER, with_whole_counts
from deviate.imports.roles import EXAMPLES, FEWEST_COUNTED, FOLDS, is_amount, is_counter, is_run_name, is_setting
from deviate.imports.rows import Row, check_text, number, read_bytes
from deviate.lexicon.words import meaning_of, plain, split_of

#: Words of moments, and what has a number in it.
_OF_MOMENTS = frozenset({
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec", "am", "pm", "utc", "day", "days", "h", "m", "s",
})  # fmt: skip
_NUMBERED = re.compile(r"(?<![\w.:])[\w.:]*\d[\w.:]*")


class Pair(NamedTuple):
    """A value that a line or a box names."""

    #: What stands before it, in the form of the line; nothing in a box.
    text: str
    word: str
    #: What stands before that, from the value before on.
    lead: str = ""
    #: The word before it that says its part of the data.
    said: str = ""
    name: str = ""
    #: Where it begins in its line.
    start: int = 0

    @property
    def form(self) -> frozenset[str]:
        """The words before it, without what tells a moment or is numbered."""
        return frozenset(re.findall(r"[a-z]+", _NUMBERED.sub(" ", f"{self.said} {self.lead}".lower()))) - _OF_MOMENTS


#: The values that a line or a box names.
Pairs = dict[str, Pair]

#: A named number: ``loss: 0.5``, ``step:10/100``, ``epoch 3``, ``Epoch [ 3]``, ``'val_acc': 91.5``, ``val_acc=91.5%``,
#: ``loss is 0.5``, ``mAP@0.5:0.95 0.4``.
_NAMED = re.compile(
    r"(?<![\w./-])(?!(?:and|the) |[ap]m\b)"
    r"(?P<name>[^\W\d_][\w./-]*@\[?[\d.]+[:-][\d.]+\]?|[^\W\d_][\w@./-]*(?:'s)?(?: (?!is )[^\W\d_][\w@-]*)?)"
    r"(?:\((?P<of>[a-z]+)\))?"
    rf"(?P<sign>['\"]?\s*[:=：]\s*(?:[\[(]\s*)?|\s*\[\s*|\s+(?:is\s+)?)(?P<value>{NUMBER})"
    r"(?![\w.:-]*\d)(?=$|[\s,;:|()\[\]{}/%±>]|\.(?:\s|$)|\+/?-|[a-z]{1,3}\b)",
    re.IGNORECASE,
)

#: The last words before a name.
_BEFORE = re.compile(r"(?<![A-Za-z])([A-Za-z]+(?: [A-Za-z]+){0,2})\W*(?:#\d+\W*)?$")

#: A place in a program: ``train.py:12``.
_PLACE = re.compile(r"\S*\.[a-z]{1,3}:\d+")

#: The name of a tensor with its shape, ``net/gamma:0, shape = (768,)``, a line of a program, and one of an error.
_NO_NAMES = re.compile(
    r"\S{1,200}:\d+,? *\(?shape *[=:]? *[(\[][\d, ]*[)\]]|^\s+return [-+.\w]+\s*$"
    r"|^[^A-Za-z]*[\[|-] ?(?:ERROR|CRITICAL|FATAL) ?[\]|-].*"
)

#: A line that is a count, a word and a value: ``250 val 3.28``.
_COUNTED = re.compile(rf"\s*\d+\s+([A-Za-z]\w*)\s+{NUMBER}\s*")

#: A line that begins with its iteration alone, as XGBoost writes it.
_BEGUN = re.compile(r"\s*\[(\d+)(?:/\d+)?\]")

#: A fraction without a name behind the last counter of a line: ``epoch: 1, 11/125``.
_FRACTION = re.compile(r"(,?\s+)(\d+)/\d+\s*$")

#: A line of a box: a name and its value, or the name of a group of them.
_BOXED = re.compile(r"\s*[|│║](?P<name>[^|│║]*[^\s|│║])\s*[|│║](?P<value>[^|│║]*)[|│║]\s*")

#: A row of a table within lines: ``Loss | 0.5 | 0.6``.
_BARRED = re.compile(rf"(?P<name>[A-Za-z][\w@ -]{{0,60}}\w)\s*\|\s*{NUMBER}\s*\|\s*{NUMBER}", re.IGNORECASE)


class Found(NamedTuple):
    """What was found in a log of unknown form."""

    #: One for each line or box that names values; none where nothing counts, nor where there is one alone.
    rows: list[Row]
    #: The form of such lines; empty where all are boxes.
    template: str
    #: What stands before numbers of such lines that are in no row.
    left_out: list[str]
    #: A line of the most frequent form of those with numbers.
    sample: str
    #: Why it is open which values of a metric are meant, and the forms of their lines; empty where it is not.
    unclear: str
    forms: list[str]
    #: The counter that begins again behind lines of its own each time, and these lines.
    again: tuple[str, list[str]]


def found_rows(path: Path) -> Found:
    """Return a row for each line or box that names values, with a sign or a known name before each."""
    lines = _lines(path)
    found = [pairs for pairs in _found(lines) if pairs]
    counters = _counters(found)
    if not counters:
        # A pattern with the name of a counter has its lines counted by it.
        found = [{name: pair for name, pair in pairs.items() if not is_counter(name)} for pairs in found]
    known, metrics = _metrics(found, counters)
    made = list(_rows(found, metrics, counters))
    rows = [row for row, _ in made if not row.keys().isdisjoint(counters.values()) and not metrics.isdisjoint(row)]
    kept = {name for row in rows for name in row} & metrics or known
    several = _several(found, {name for name in kept if not is_setting(name)}, counters)
    counted = {name for pairs in found if not pairs.keys().isdisjoint(counters) for name in pairs}
    vague = [name for name in sorted(kept - known) if name in several or (counted & known and name not in counted)]
    rows = [row for each in rows if not kept.isdisjoint(row := {k: v for k, v in each.items() if k not in vague})]
    read = islice((line for line in lines if not metrics.isdisjoint(_pairs(line))), MOST_LOOKED_AT)
    template = _template(made, {name for name in known if not is_setting(name) and is_result(name)}, counters)
    left_out = [*vague, *_left_out(read)]
    # Where all stands at one iteration, nothing was counted.
    is_one = len({tuple(row.get(name) for name in counters.values()) for row in rows}) == 1
    unclear, forms = _unclear(
        {name: several[name] for name in several if is_result(name) or (is_one and name in known)}
    )
    if rows:
        late, lines_of = _behind(found, metrics, counters)
        unclear, forms = (f"{late!r} stands behind the lines that it counts", lines_of) if late else (unclear, forms)
        unclear, forms = _barred(lines, kept) or _uncounted(made, kept) or (unclear, forms)
        forms = [*forms, *_clear(found, forms, kept, counters)] if forms else forms
    if not template and not forms:
        words = Counter(match[1] for line in lines if (match := _COUNTED.fullmatch(line)))
        forms = [f"{{step}} {word} {{{word}}}" for word, times in words.items() if times > 1]
    again = _heads(lines, counters) if not any(plain(name) in FOLDS for pairs in found for name in pairs) else ("", [])
    return Found(rows if len(rows) > 1 else [], template, left_out, _sample(lines), unclear, forms, again)


#: Lines that number repeats.
_REPEAT = re.compile(r"\b(?:run|seed|trial|repeat|repetition|try)s?\b\W*\d+", re.IGNORECASE)


def _heads(lines: Sequence[str], counters: Iterable[str]) -> tuple[str, list[str]]:
    """Return the counter that least often begins again, with the last line before each time that is not before all."""
    found: dict[str, list[list[str]]] = {}
    for counter in counters:
        named = re.compile(rf"(?<!\w)(?<!total )(?<!max ){re.escape(counter)}\W{{1,4}}(\d+)", re.IGNORECASE)
        blocks, block, first, last = found.setdefault(counter, []), [], None, -1
        for line in lines:
            match = named.search(line)
            if match is None:
                block.append(_NO_VALUE.sub(" ", line).strip())
                continue
            at = int(match[1])
            first = at if first is None else first
            if not blocks or first >= at < last:
                # `stage 2 epoch 0`
                blocks.append([*block, _NO_VALUE.sub(" ", line[: match.start()]).strip()])
            block, last = [], at
    counter = min(found, key=lambda name: len(found[name]), default="")
    blocks = found.get(counter, [])
    # Results behind a training are not of the next one.
    own = [
        [line for line in block if line and not _REPEAT.search(line) and not any(map(is_result, _pairs(line)))]
        for block in blocks
    ]
    heads = [next((line for line in reversed(each) if any(line not in block for block in blocks)), "") for each in own]
    return (counter, heads) if len(heads) > 1 and all(heads) and len(set(heads)) == len(heads) else ("", [])


def _lines(path: Path) -> list[str]:
    """Return the lines of a text; of one that a progress bar redraws its last drawing, and without colours."""
    data = read_bytes(path)
    check_text(path, data)
    lines = [line[:LONGEST_LINE].rstrip("\r") for line in data.decode("utf-8", "replace").split("\n")]
    return [with_whole_counts(_COLOUR.sub("", line.rpartition("\r")[2])) for line in lines]


def _unclear(several: Mapping[str, list[str]]) -> tuple[str, list[str]]:
    """Name one whose value is ambiguous, with the forms of its lines; nothing where each is clear."""
    name, forms = max(several.items(), key=lambda it: (is_result(it[0]), len(it[1]), len(it[1][0])), default=("", []))
    how = f"in lines of {len(forms)} forms" if len(forms) > 1 else "with several values at one iteration"
    return (f"{name!r} stands {how}", forms) if name else ("", [])


def _uncounted(made: Sequence[tuple[Row, Pairs]], kept: Collection[str]) -> tuple[str, list[str]] | None:
    """Say which result has several values in lines of which none is counted, with the form of these."""
    lines: dict[str, dict[str, Pairs]] = {}
    for _, pairs in made:
        for name in (name for name in pairs if name not in kept and not is_setting(name) and is_result(name)):
            lines.setdefault(name, {})[pairs[name].word] = pairs
    forms = [(name, _form(next(iter(words.values())))) for name, words in lines.items() if len(words) > 1]
    return (f"{forms[0][0]!r} stands in lines that no counter counts", [forms[0][1]]) if forms else None


def _barred(lines: Iterable[str], names: Collection[str]) -> tuple[str, list[str]] | None:
    """Say which of the names stand in rows of a table within the lines, too, with the forms of these."""
    matches = (_BARRED.search(line) for line in lines if line.count("|") > 1)
    barred = list(dict.fromkeys(match["name"] for match in matches if match and match["name"] in names))
    forms = [f"{name} | {{{name} 1}} | {{{name} 2}}" for name in barred]
    return (f"{barred[0]!r} stands in rows of a table, too", forms) if barred else None


def _clear(found: list[Pairs], forms: list[str], kept: set[str], counters: Mapping[str, str]) -> list[str]:
    """Return the forms of the lines whose counters and metrics would be lost beside `forms`, which have others."""
    named = set(re.findall(r"{([^{}]+)}", " ".join(forms)))
    clear: dict[frozenset[str], str] = {}
    for pairs in found:
        lost = [name for name in pairs if name not in named and (name in counters or is_result(name))]
        if lost and kept.isdisjoint(pairs.keys() & named):
            clear.setdefault(frozenset(pairs), _form(pairs))
    return list(clear.values())


def _several(found: Sequence[Pairs], names: Collection[str], counters: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names that stand in lines of several forms, or with several values while no counter goes on.

    Each has the forms of its lines. Those of one form are the same words since the value before.
    """
    forms: dict[str, dict[frozenset[str], str]] = {}
    seen: dict[str, str] = {}
    held: Row = {}
    repeated: set[str] = set()
    for pairs in found:
        at = {name: pair.word for name, pair in pairs.items() if name in counters or plain(name) in FOLDS}
        if not at.items() <= held.items():
            held, seen = {**held, **at}, {}
        for name in (name for name in pairs if name in names):
            # The shortest is that of lines with a field less, too.
            form, of_name = _form(pairs, name), forms.setdefault(name, {})
            of_name[pairs[name].form] = min(form, of_name.get(pairs[name].form, form), key=len)
            if seen.setdefault(name, pairs[name].word) != pairs[name].word:
                repeated.add(name)
    order = sorted(forms, key=lambda name: len(forms[name]) < 2)
    return {name: list(forms[name].values()) for name in order if len(forms[name]) > 1 or name in repeated}


def _form(pairs: Pairs, name: str = "") -> str:
    """Return the form of a line, with the words before the value of `name`, and those that say its part of the data."""
    led = [own for own, pair in pairs.items() if own == name or (name and pair.said and pair.said in pair.lead)]
    leads = {own: re.sub(r"^(?:.*\d\S*)?\W*", "", pairs[own].lead) for own in led}
    form = " ... ".join(f"{leads.get(own, '')}{pair.text}{{{own}}}" for own, pair in pairs.items() if pair.text)
    return re.sub(r"\s+", " ", form)


def is_result(name: str) -> bool:
    """Tell whether a name is that of a loss or a quality with a direction."""
    meaning = meaning_of(name)
    return meaning is not None and meaning.direction is not None and meaning.kind in ("quality", "loss")


def _sample(lines: Sequence[str]) -> str:
    forms = [re.sub(NUMBER, "0", line, flags=re.IGNORECASE) for line in lines]
    times = Counter(forms)
    first = {form: line for form, line in zip(reversed(forms), reversed(lines), strict=True) if _BARE.search(line)}
    return first[max(first, key=lambda form: times[form])].strip()[:LONGEST_SAMPLE] if first else ""


#: What colours a terminal.
_COLOUR = re.compile(r"\x1b\[[\d;]*m")

#: Characters of a line that a hint shows.
LONGEST_SAMPLE = 100


#: Lines in which numbers without a name are looked for.
MOST_LOOKED_AT = 2_000

#: What is no value: a moment, a place in a program, a bar of progress, a share of a count, a time or a size.
_NO_VALUE = re.compile(
    rf"\d{{4}}[-/.]\d\d?[-/.]\d\d?|(?<!\d)\d+(?::\d+)+(?:[.,]\d+)?|\S{{0,200}}\.[a-z]{{1,3}}:\d+|(?<!\d)\d+%\|.*"
    rf"|(?<!\d)\d+/\d+(?![\d.])|(?:(?=[-+])|(?<!\d)){NUMBER}\s?"
    r"(?:[mun]?s|secs?|seconds?|min|minutes?|hours?|h|d|[kmgt]i?b|[a-z]+/[a-z]+)\b(?!\s*[:=])",
    re.IGNORECASE,
)
#: The first of two values: ``acc 0.91/0.88``.
_OVER = re.compile(r"\d\.\d+%?/$")
_BARE = re.compile(rf"(?<![\w.,:])(?<!\w[+-])(?P<value>{NUMBER})(?![\w:]|\.\d)", re.IGNORECASE)


def _left_out(lines: Iterable[str]) -> list[str]:
    """Return what stands before numbers that no name was found for, where they differ from line to line."""
    words: dict[str, set[str]] = {}
    for line in lines:
        rest = _NO_VALUE.sub(lambda match: " " * len(match[0]), line)
        read = {each.start for each in _values(line)}
        for match in _BARE.finditer(rest):
            before = rest[: match.start()]
            if before.endswith("/") and not _OVER.search(before[-LONGEST_SAMPLE:]):
                continue
            is_value = "." in match["value"] or re.search(r"[A-Za-z±(>] ?$", before[-2:])
            if is_value and match.start() not in read and before.strip():
                last = re.search(r"([A-Za-z][\w@-]*)?[^\w]*$", before[-LONGEST_SAMPLE:])
                words.setdefault((last[0].strip() if last else "") or "another number", set()).add(match["value"])
    return [before for before, several in words.items() if len(several) > 1]


def _metrics(found: Sequence[Pairs], counters: Collection[str]) -> tuple[set[str], set[str]]:
    """Return the names that are known as metrics, and with them those that change: what never does is a setting."""
    words: dict[str, set[str]] = {}
    for pairs in found:
        for name, pair in pairs.items():
            if not is_counter(name) and name not in counters and plain(name) not in FOLDS:
                words.setdefault(name, set()).add(pair.word)
    known = {name for name, several in words.items() if meaning_of(name) is not None or _is_of_split(name, several)}
    return known, known | {name for name, several in words.items() if len(several) > 1}


def _is_of_split(name: str, words: Collection[str]) -> bool:
    """Tell whether decimals are called by a part of the data alone: ``Train: 0.54 | Val: 0.96``."""
    return bool(split_of(name)) and name.isalpha() and len(words) > 1 and all("." in word for word in words)


def _rows(found: Sequence[Pairs], metrics: Collection[str], counters: Mapping[str, str]) -> Iterator[tuple[Row, Pairs]]:
    """Yield a row for each line or box with values of metrics, with the counters as they last stood, and its pairs."""
    held: Row = {}
    for pairs in found:
        held |= {counters[name]: pair.word for name, pair in pairs.items() if name in counters}
        held |= {name: pair.word for name, pair in pairs.items() if plain(name) in FOLDS}
        values = {name: pair.word for name, pair in pairs.items() if name in metrics}
        if values:
            yield {**held, **values}, pairs


def _behind(found: Sequence[Pairs], metrics: set[str], counters: Collection[str]) -> tuple[str, list[str]]:
    """Return a counter that is named behind the lines that it counts, and the forms of these and of its own lines.

    ``step 1``, ``step 2``, ``epoch 1 ends``: behind each such line another counter, which stands before the first of
    them, begins again.
    """
    for late in counters:
        at = [index for index, pairs in enumerate(found) if late in pairs]
        ahead = [pairs for pairs in (found[: at[0]] if len(at) > 1 else []) if not metrics.isdisjoint(pairs)]
        finer = next((name for name in counters if name != late and sum(name in pairs for pairs in ahead) > 1), None)
        if finer is not None and _begins_behind(finer, at, found):
            of_late = (pairs for pairs in found if late in pairs and not metrics.isdisjoint(pairs))
            lines = [next(pairs for pairs in ahead if finer in pairs), *islice(of_late, 1)]
            return late, [_form(pairs) for pairs in lines]
    return "", []


def _begins_behind(finer: str, at: Sequence[int], found: Sequence[Pairs]) -> bool:
    """Tell whether a counter begins again behind each of these lines but the last, and nowhere else."""
    numbers = [(index, number(pairs[finer].word) or 0.0) for index, pairs in enumerate(found) if finer in pairs]
    falls = {bisect(at, two[0]) for one, two in pairwise(numbers) if two[1] < one[1]}
    apart = {bisect(at, two[0]) for one, two in pairwise(numbers) if bisect(at, one[0]) < bisect(at, two[0])}
    return bool(falls) and falls == apart and len(falls) == sum(two[1] < one[1] for one, two in pairwise(numbers))


def _template(made: Sequence[tuple[Row, Pairs]], known: Collection[str], counters: Mapping[str, str]) -> str:
    """Return the most frequent form of a line, of those with a counter, then of those with a known result."""
    forms = Counter(
        (not row.keys().isdisjoint(counters.values()), any(name in known for name in pairs), form)
        for row, pairs in made
        for form in [_form(pairs)]
    )
    counts, knows, form = max(forms, key=lambda form: (form[:2], forms[form]), default=(False, False, ""))
    return form if counts or knows else ""


def _found(lines: Iterable[str]) -> Iterator[Pairs]:
    """Yield the values of each line, and of each box of lines together."""
    box: Pairs = {}
    group, depth = "", 0
    for line in lines:
        boxed = _BOXED.fullmatch(line)
        if boxed is None:
            yield box
            box, group = {}, ""
            yield _pairs(line)
            continue
        name, word = boxed["name"], boxed["value"].strip()
        indent = len(name) - len(name.lstrip())
        if not word:
            group, depth = name.strip().rstrip("/"), indent
        elif number(word) is not None and number(name) is None:
            own = f"{group}/{name.strip()}" if group and indent > depth else name.strip()
            if own in box:
                yield box
                box = {}
            box[own] = Pair("", word)
    yield box


#: What a value became, ``loss 3.8 -> 0.8``, and the further ones of a list.
_ARROW = re.compile(rf"%?\s*(?:--?>|=>|→)\s*(?P<value>{NUMBER})(?![\w:]|\.\d)", re.IGNORECASE)
_FURTHER = re.compile(rf"(?:(?:\s*,\s*|\s+){NUMBER})+\s*,?\s*(?:[\])]|$)", re.IGNORECASE)
_COMMA = re.compile(rf"(?:\s*,\s*|\s+)(?P<value>{NUMBER})", re.IGNORECASE)


def _pairs(line: str) -> Pairs:
    """Return the values that a line names, each with what stands before it."""
    found = list(_values(line))
    splits = {place: part for place, each in enumerate(found) if (part := split_of(each.name))}
    known = {plain(each.name) for each in found}
    pairs: Pairs = {}
    for place, each in enumerate(found):
        name = each.name
        # `val_loss 0.3, acc 0.9, val_f1 0.8`: what stands among names of one split is of it.
        is_among = len(set(splits.values())) == 1 and min(splits) < place < max(splits) and place not in splits
        if is_among and not is_counter(name) and not is_setting(name):
            own = f"{splits[min(splits)]} {name}"
            name = name if plain(own) in known else own
        pairs.setdefault(name, each)
    return pairs


def _values(line: str) -> Iterator[Pair]:
    """Yield the values that a line names."""
    line = _NO_NAMES.sub(lambda match: " " * len(match[0]), line)
    if begun := _BEGUN.match(line):
        yield Pair("[", begun[1], name="iteration", start=begun.start(1))
    is_of_one = len({part for word in re.findall(r"[A-Za-z]+", line) if (part := split_of(word))}) == 1
    split, said, end = "", "", 0
    for match in _NAMED.finditer(line):
        first, _, last = match["name"].strip().rpartition(" ")
        # Before a counter may stand anything: `INFO Epoch: 3`.
        name = last if is_counter(last) else f"{first} {last}".strip()
        if not _is_named(name, match) or _PLACE.fullmatch(match[0].split()[-1]):
            continue
        # `Train Epoch: 3 loss: 0.5`, `Test set: loss 0.6`: a split holds for the values behind it.
        before = _BEFORE.search(line[end : match.start()])
        beside = (first if name == last else "") or match["of"] or (before[1] if before else "")
        if part := split_of(beside) or (split_of(first) if is_of_one else ""):
            split, said = part, next((word for word in f"{beside} {first}".split() if split_of(word)), "")
        lead, end = line[end : match.start()] + match["name"].removesuffix(name), match.end()
        if _is_one_of_several(name, match):
            continue
        is_whole = is_counter(name) or is_setting(name) or split_of(name) or not split
        own = name if is_whole else f"{split} {name}"
        text = f"{name}{match[0][len(match['name']) : -len(match['value'])]}"
        own = f"best {own}" if "best" in beside.lower().split() else own
        pair = Pair(text, match["value"], lead, "" if split_of(name) else said, own, match.start("value"))
        yield from _with_further(pair, "" if is_counter(name) or is_setting(name) else line)
        if is_counter(name) and (fraction := _FRACTION.match(line, match.end())):
            yield Pair(fraction[1], fraction[2], name="batch", start=fraction.start(2))


def _with_further(first: Pair, line: str) -> Iterator[Pair]:
    """Yield a value, what it became, and those that follow it in its list."""
    end = first.start + len(first.word)
    if arrow := _ARROW.match(line, end):
        yield first._replace(name=f"{first.name} before")
        start = arrow.start("value")
        yield Pair(line[end:start].lstrip(), arrow["value"], name=first.name, start=start)
        return
    further = _FURTHER.match(line, end) if first.text.rstrip().endswith(("[", "(")) else None
    if further is None:
        yield first
        return
    yield first._replace(name=f"{first.name}/0")
    for place, match in enumerate(_COMMA.finditer(line, end, further.end()), 1):
        start = match.start("value")
        yield Pair(line[match.start() : start], match["value"], name=f"{first.name}/{place}", start=start)


#: The numbers without names behind a value, and a name before its name: `IS, FID: 8.2, 10.9`, `AP: 14.3,28.1,9.8`.
_OTHERS = re.compile(rf"%?(?:\s?[,/]\s?{NUMBER}(?![\w.]|\s?[:=/]))+", re.IGNORECASE)
_NAME_BEFORE = re.compile(r"(?<![A-Za-z])[A-Za-z][\w-]*\s?[,/]\s?$")


def _is_one_of_several(name: str, match: re.Match[str]) -> bool:
    """Tell whether a value is the first of several that share a name, or have names that stand before the first."""
    others = _OTHERS.match(match.string, match.end())
    if others is None or is_counter(name):
        return False
    is_of_names = "/" in name or _NAME_BEFORE.search(match.string[: match.start()])
    return bool(is_of_names) or len(re.findall(NUMBER, others[0], re.IGNORECASE)) > 1


def _is_named(name: str, match: re.Match[str]) -> bool:
    """Tell whether what stands before a number is its name."""
    if (
        any(mark in match["sign"] for mark in ":=：")
        or is_counter(name)
        or plain(name) in FOLDS
        or (meaning_of(name) is not None and re.search(r"\w\w", name))
    ):
        return True
    # `iter 0: train 4.31 val 4.29`, but not `train 2.2s` nor `Test 100`.
    is_alone = match.end() == len(match.string) or not match.string[match.end()].isalpha()
    return " " not in name and "." in match["value"] and is_alone and bool(split_of(name))


def _counters(found: Sequence[Pairs]) -> dict[str, str]:
    """Return the names that count, each with the one that it is called by.

    Such a name rises more often than it falls; one that may be how many there shall be rises by equal steps. A progress
    bar, which has no values beside it and starts again within the steps of another counter, counts none of them.
    """
    along: dict[str, dict[int, float]] = {}
    beside: Counter[str] = Counter()
    for index, pairs in enumerate(found):
        counted = {
            name: value for name in pairs if is_counter(name) and (value := number(pairs[name].word)) is not None
        }
        for name, value in counted.items():
            along.setdefault(name, {})[index] = value
            beside[name] += len(counted) < len(pairs)
    counting = {name: numbers for name, numbers in along.items() if _rises(list(numbers.values()), name)}
    fewest = min((_falls(numbers.values()) for name, numbers in counting.items() if beside[name]), default=None)
    kept = {
        name: numbers
        for name, numbers in counting.items()
        if beside[name] or fewest is None or _falls(numbers.values()) <= fewest
    }
    unnamed = "" if kept else evenly_counting([{name: pair.word for name, pair in pairs.items()} for pairs in found])
    return {name: _called(name, kept) for name in kept} or ({unnamed: ITERATION} if unnamed else {})


#: What counts in a log although its name does not say so is called.
ITERATION = "iteration"


def evenly_counting(rows: Sequence[Row]) -> str:
    """Return the first name whose whole numbers rise evenly beside metrics, as often as they begin again."""
    along: dict[str, list[str]] = {}
    for row in rows:
        for name, word in row.items() if any(meaning_of(each) is not None for each in row) else ():
            along.setdefault(name, []).append(word)
    return next((name for name, words in along.items() if _is_even(name, words)), "")


def _is_even(name: str, words: Sequence[str]) -> bool:
    if len(words) < FEWEST_COUNTED or not all(map(str.isdecimal, words)) or meaning_of(name) is not None:
        return False
    numbers = [int(word) for word in words]
    steps = [later - earlier for earlier, later in pairwise(numbers) if later != numbers[0]]
    # `t=100` is a setting of no log.
    is_set = is_setting(name) and len(name) > 1
    is_free = not (is_set or is_run_name(name) or split_of(name) or plain(name) in EXAMPLES)
    return is_free and bool(steps) and min(steps) == max(steps) > 0 and len(steps) > len(words) // 2


def _rises(numbers: Sequence[float], name: str) -> bool:
    rises = Counter(two - one for one, two in pairwise(numbers) if one < two)
    is_even = rises.total() > 1 and 2 * max(rises.values()) > rises.total()
    return rises.total() > _falls(numbers) and (is_even or not is_amount(name))


def _falls(numbers: Collection[float]) -> int:
    return sum(one > two for one, two in pairwise(numbers))


def _called(name: str, along: Mapping[str, Mapping[int, float]]) -> str:
    """Return the counter on more lines that is the same as another: `step 250` of an evaluation, `iter 250`."""
    same = [other for pair in combinations(along, 2) if name in pair and _are_same(*(along[each] for each in pair))
            for other in pair]  # fmt: skip
    return max([name, *same], key=lambda each: len(along[each]))


def _are_same(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    """Tell whether two names count the same: on lines of their own, with values in common, and rising together."""
    rarer, denser = sorted((set(one.values()), set(other.values())), key=len)
    if len(rarer) < 2 or 2 * len(rarer & denser) < len(rarer) or not one.keys().isdisjoint(other.keys()):
        return False
    together = [value for _, value in sorted([*one.items(), *other.items()])]
    return _falls(together) <= max(_falls(one.values()), _falls(other.values()))
