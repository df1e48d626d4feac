"""Fingerprints of a run: digests of what each factor drew, of weights and of batches, over all its processes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from deviate.core.factors import DATA, OTHER, SEEDED
from deviate.observe.processes import Process
from deviate.store.records import count_values

# How alike two sets of examples are, by their sketches: the smallest hashes of each set.

#: Sketches by part of a run's examples: its n-th data set, or what its model was called on.
Parts = Mapping[str, Sequence[str]]

#: How the names of parts begin whose rows are of several lengths.
PADDED = "padded, "

#: Hashes that a sketch keeps, as the runtime does.
SIZE = 64

#: Sets that share less than this are different ones. An incomplete last batch that is dropped leaves out a few
#: examples; two random splits that each keep nine tenths of the same data share 0.82.
SAME = 0.9


def resemblance(a: Sequence[str], b: Sequence[str]) -> float:
    """Estimate the share of examples that two sets have in common (their Jaccard index), in [0, 1].

    Parameters
    ----------
    a, b : sequence of str
        The smallest hashes of each set, at most `SIZE`, as hexadecimal numbers of equal length.

    References
    ----------
    A. Broder, "On the resemblance and containment of documents", Proc. Compression and Complexity of Sequences, 1997.

    Examples
    --------
    >>> resemblance(["01", "02", "03"], ["03", "02", "01"])
    1.0
    >>> resemblance(["01", "02"], ["03", "04"])
    0.0
    """
    smallest = sorted({*a, *b})[:SIZE]
    common = set(a) & set(b)
    return sum(each in common for each in smallest) / len(smallest) if smallest else 1.0


def joined_parts(parts: Sequence[Parts]) -> dict[str, list[str]]:
    """Return the sketches of the examples that several processes of a run had."""
    names = sorted({name for each in parts for name in each})
    return {name: sorted({word for each in parts for word in each.get(name, ())})[:SIZE] for name in names}


def same_examples(a: Parts, b: Parts) -> bool | None:
    """Tell whether two runs had the same examples in every part that both show; None where nothing proves it.

    Rows that were padded prove that examples are the same, and not that they differ: how far each is padded follows
    from the order.
    """
    differing = [name for name in a if name in b and resemblance(a[name], b[name]) < SAME]
    if any(not name.startswith(PADDED) for name in differing):
        return False
    return True if a.keys() & b.keys() and not differing else None


#: Fingerprints that are no factor's: of the final weights, and of the content of the first batches.
WEIGHTS = "weights"
BATCHES = "batches"

#: Draws that become seeds: they are the author's in every run.
SEEDS = "seed"

#: Factors that decide the content of the first batches.
IN_BATCHES = frozenset(("shuffle", "augment", DATA))

#: Of the examples that reached training and evaluation, free of their order; and of the first input of the training.
EXAMPLES = "examples"
INPUT = "input"

#: In this order they are listed.
NAMES = (*SEEDED, BATCHES, WEIGHTS, EXAMPLES, INPUT)


class DrawSource(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A generator that was drawn from, and who seeded it last."""

    #: ``jax ?`` where it may have been another: of several keys nothing shows which one was split.
    generator: str
    #: Empty where nobody seeded it.
    call: str = ""
    file: str = ""
    line: int = 0
    given: str = ""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Seeds that were given one after the other."""

    #: How many, the digest of all, and those after 1, 2, 4, 8, … of them.
    count: int
    digest: str
    series: list[str]


class Seeding(Given, frozen=True, kw_only=True):
    """What the generators of one process were seeded with for one factor."""

    #: The factor's own seed.
    seed: str
    #: Seeds that libraries were handed, of generators that are not switched.
    handed: Given | None = None


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What the processes of one run drew under one name."""

    name: str
    #: Over all processes, each with all that it drew where it came to its end, and else with its first draws.
    digest: str
    #: Over all processes, each with its first draws only.
    first: str
    #: How often the factor was seen to have drawn. Of many draws not each is looked at: no count of draws.
    count: int
    processes: int
    #: Processes that came to their end.
    ended: int
    #: Values that the run reported, which tells how long it went on.
    length: int = 0
    sources: list[DrawSource] = []
    #: Of `EXAMPLES`, sketches by part, see `sketches`.
    parts: dict[str, list[str]] = {}
    #: Of each process the digests after 1, 2, 4, 8, … times; empty where one of them has none.
    series: list[list[str]] = []
    #: Of the only process; None where there are several.
    seeding: Seeding | None = None
    #: Where the digest is of content (initial weights, the order of data): that of the draws it was made with, empty
    #: where nothing was drawn for it. None: the digest is that of draws itself.
    drawn: str | None = None
    #: How often each process was seen to have drawn, ascending: a pool shares tasks out as its workers get free.
    counts: list[int] = []

    @property
    def is_undrawn(self) -> bool:
        """Tell whether it is content that nothing was drawn for: weights from a file, a fixed order."""
        return self.drawn == ""


def joined_fingerprints(processes: Iterable[Process], *, interrupted: bool = False) -> dict[str, Fingerprint]:
    """Return the fingerprints of several processes together, by name.

    The processes are of one run. What a run drew last that was `interrupted` says when it was ended, and nothing else.
    """
    by_name: dict[str, list[_Drawn]] = {}
    length = 0
    members = list(processes)
    for process in members:
        # What starts the ranks of a distributed training draws for names of its own.
        left_out = {OTHER} if _launches(process, members) else set()
        length += count_values(process.record_file) if process.record_file is not None else 0
        for name, drawn in _drawn(process, interrupted=interrupted).items():
            if name not in left_out:
                by_name.setdefault(name, []).append(drawn)
    order = {name: rank for rank, name in enumerate(NAMES)}
    names = sorted(by_name, key=lambda name: (order.get(name, len(order)), name))
    joined = {name: _joined(name, by_name[name], length) for name in names}
    # Sets that were drawn anew in each pass are no data: nothing is left of them.
    return {name: each for name, each in joined.items() if each.parts or name != EXAMPLES}


def _launches(process: Process, members: Iterable[Process]) -> bool:
    """Whether a process only starts the ranks of a training: it has no rank, came before them and recorded nothing."""
    if process.rank is not None or process.record_file is not None:
        return False
    return any(each.rank is not None and (process.started or 0) < (each.started or 0) for each in members)


class _Drawn:
    """The events of one process under one name: at most one of the first draws and one of the end."""

    def __init__(self) -> None:
        self.moments: dict[str, dict[str, Any]] = {}

    def digest(self, *moments: str) -> str:
        return next(str(self.moments[moment]["digest"]) for moment in moments if moment in self.moments)

    @property
    def count(self) -> int:
        counts = [event.get("count") for event in self.moments.values()]
        return max((count for count in counts if isinstance(count, int)), default=0)

    @property
    def latest(self) -> dict[str, Any]:
        return self.moments.get("end") or self.moments.get("first") or {}

    @property
    def sources(self) -> list[DrawSource]:
        return [_source(source) for source in self.latest.get("sources") or [] if isinstance(source, dict)]

    @property
    def series(self) -> list[str]:
        series = self.latest.get("series")
        return [str(digest) for digest in series] if isinstance(series, list) else []

    @property
    def drawn(self) -> str | None:
        """Digest of the draws that content was made with: the first ones, which an interrupted run has as well."""
        draws = [event.get("drawn") for event in (self.moments.get("first", {}), self.latest)]
        if not isinstance(draws[-1], dict) or draws[-1].get("unseen"):
            return None
        return next((str(each.get("digest")) for each in draws if isinstance(each, dict) and each.get("count")), "")

    @property
    def seeding(self) -> Seeding | None:
        try:
            return msgspec.convert(self.latest.get("seeded"), Seeding)
        except msgspec.ValidationError:
            return None

    @property
    def parts(self) -> dict[str, list[str]]:
        parts = self.moments.get("first", {}).get("parts")
        if not isinstance(parts, dict):
            return {}
        return {str(part): [str(word) for word in sketch] for part, sketch in parts.items() if isinstance(sketch, list)}


def _drawn(process: Process, *, interrupted: bool) -> dict[str, _Drawn]:
    by_name: dict[str, _Drawn] = {}
    for event in process.events:
        name, moment = event.get("name"), event.get("moment")
        if event["event"] != "fingerprint" or not isinstance(name, str) or moment not in ("first", "end"):
            continue
        if isinstance(event.get("digest"), str):
            by_name.setdefault(name, _Drawn()).moments[moment] = event
    if interrupted:
        for drawn in by_name.values():
            if "first" in drawn.moments:
                drawn.moments.pop("end", None)
    return by_name


def _source(drawn: dict[str, Any]) -> DrawSource:
    line = drawn.get("line")
    texts = {key: str(drawn[key]) for key in ("generator", "call", "file", "given") if drawn.get(key) is not None}
    return DrawSource(**{"generator": "", **texts}, line=line if isinstance(line, int) else 0)


def _joined(name: str, drawn: Sequence[_Drawn], length: int) -> Fingerprint:
    return Fingerprint(
        name=name,
        digest=_crc([each.digest("end", "first") for each in drawn]),
        first=_crc([each.digest("first", "end") for each in drawn]),
        count=sum(each.count for each in drawn),
        processes=len(drawn),
        ended=sum("end" in each.moments for each in drawn),
        length=length,
        sources=sorted({source for each in drawn for source in each.sources}),
        parts=joined_parts([each.parts for each in drawn]),
        series=[each.series for each in drawn] if all(each.series for each in drawn) else [],
        seeding=drawn[0].seeding if len(drawn) == 1 else None,
        drawn=_joined_draws([each.drawn for each in drawn]),
        counts=sorted(each.count for each in drawn),
    )


def _joined_draws(draws: Sequence[str | None]) -> str | None:
    """Return one digest for what several processes drew; empty where none drew."""
    known = [each for each in draws if each is not None]
    if len(known) < len(draws):
        return None
    return _crc(known) if any(known) else ""


def _crc(digests: Iterable[str]) -> str:
    """Return one digest for those of several processes, whatever the order in which they started."""
    return f"{zlib.crc32(' '.join(sorted(digests)).encode()):08x}"


def agree(one: Fingerprint | None, other: Fingerprint | None) -> bool | None:
    """Tell whether two runs drew the same.

    Where one run went on for longer, or drew more often, what both drew tells: from the same seeds the same numbers
    come, and else the last digest that both have. None where nothing does: a run drew in other processes than the
    other, or did not draw at all.
    """
    if one is None or other is None:
        return None
    if one.digest == other.digest:
        return True
    if one.parts or other.parts:
        return same_examples(one.parts, other.parts)
    if one.processes != other.processes:
        return None
    if _seeded_alike(one.seeding, other.seeding):
        return True
    if (one.count, one.counts, one.ended, one.length) == (other.count, other.counts, other.ended, other.length):
        return False
    first, second = common_digests(one, other)
    return first == second


def common_digests(one: Fingerprint, other: Fingerprint) -> tuple[str, str]:
    """Return the last digests that both runs have after equally many draws; those of the first draws where none is."""
    length = min((len(series) for series in (*one.series, *other.series)), default=0)
    if not (one.series and other.series and length):
        return one.first, other.first
    return _at(one.series, length - 1), _at(other.series, length - 1)


def equal_draws(one: Fingerprint, other: Fingerprint) -> int:
    """Return after how many draws two runs are last known to have drawn the same."""
    length = min((len(series) for series in (*one.series, *other.series)), default=0)
    equal = [index for index in range(length) if _at(one.series, index) == _at(other.series, index)]
    return 2 ** equal[-1] if equal else 0


def _at(series: Sequence[Sequence[str]], index: int) -> str:
    digests = [each[index] for each in series]
    return digests[0] if len(digests) == 1 else _crc(digests)


def _seeded_alike(one: Seeding | None, other: Seeding | None) -> bool:
    """Tell whether two processes drew from equal seeds, as far as both seeded."""
    if one is None or other is None or one.seed != other.seed:
        return False
    # A run that was handed none drew less.
    handed = one.handed is None or other.handed is None or _given_alike(one.handed, other.handed)
    return handed and _given_alike(one, other)


def _given_alike(one: Given, other: Given) -> bool:
    """Tell whether the same seeds were given, as far as both were given some."""
    if one.count == other.count:
        return one.digest == other.digest
    length = min(len(one.series), len(other.series))
    return length > 0 and one.series[length - 1] == other.series[length - 1]


def is_constant(prints: Sequence[Fingerprint]) -> bool:
    """Tell whether runs have the same content and none of them drew for it."""
    return bool(prints) and all(each.is_undrawn and agree(prints[0], each) is not False for each in prints)


def is_replaced(prints: Sequence[Fingerprint]) -> bool:
    """Tell whether each run drew something else for its content, so that equal content was not drawn: it was read."""
    draws = {each.drawn for each in prints}
    return len(prints) > 1 and None not in draws and len(draws) == len(prints)


def is_made_otherwise(one: Fingerprint | None, other: Fingerprint | None) -> bool:
    """Tell whether two runs drew the same for their content, and the content differs: by what is not drawn."""
    return bool(one and other and one.drawn and one.drawn == other.drawn and agree(one, other) is False)


def is_of_other_examples(runs: Sequence[Mapping[str, Fingerprint]], name: str) -> bool:
    """Tell whether content differs only as the examples do: the same was drawn for an order of other examples."""
    draws = {prints[name].drawn for prints in runs if name in prints}
    return len(draws) == 1 and None not in draws and count_example_sets(runs) > 1


def classes(
    runs: Sequence[str],
    fingerprints: Sequence[Fingerprint],
    same: Callable[[Fingerprint, Fingerprint], bool | None] = agree,
) -> list[list[str]]:
    """Put the runs together that drew the same; a run that cannot be compared is together with the first."""
    groups: list[tuple[Fingerprint, list[str]]] = []
    for run, fingerprint in zip(runs, fingerprints, strict=True):
        group = next((names for first, names in groups if same(first, fingerprint) is not False), None)
        if group is None:
            groups.append((fingerprint, [run]))
        else:
            group.append(run)
    return [names for _, names in groups]


def are_comparable(runs: Iterable[Mapping[str, Fingerprint]]) -> bool:
    """Tell whether some runs show their examples, and it is known which of them had those of the first."""
    prints = [prints[EXAMPLES] for prints in runs if EXAMPLES in prints]
    return bool(prints) and all(agree(prints[0], each) is not None for each in prints)


def count_example_sets(runs: Iterable[Mapping[str, Fingerprint]]) -> int:
    """Count the sets of examples that runs are known to have had, from the fingerprints of each run by name."""
    prints = [prints[EXAMPLES] for prints in runs if EXAMPLES in prints]
    return len(classes([""] * len(prints), prints))
