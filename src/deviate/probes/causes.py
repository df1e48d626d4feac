"""Why two probes report other values though they drew the same: a cause that no fingerprint shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from deviate.observe.fingerprints import WEIGHTS, Fingerprint, agree, is_made_otherwise
from deviate.observe.identity import Difference, Series, first_difference
from deviate.source.lint import Hidden, Suspect

#: ``unknown``: holding still what can be held still does not help, or it was not tried.
CauseKind = Literal[Hidden, "unknown"]


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What makes runs report other values though they draw the same."""

    kind: CauseKind
    #: Lines where it may enter; empty where the source shows none.
    lines: list[Suspect] = []
    #: The first value that differs; None where only the final weights do.
    difference: Difference | None = None
    #: True: runs of the program as it is differ by it; False: they would on another machine, or in a used folder.
    here: bool = True
    #: False: runs differ by it under control, too; null: not tried.
    held: bool | None = None
    #: False: what helps was not tried.
    tried: bool = True
    #: Files that an earlier run left, which later ones find.
    files: list[str] = []
    #: What could not be held still: the probes of it failed, or were ended before values could differ.
    failed: list[Hidden] = []
    #: The files are in the project, so that each run begins with them.
    in_project: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a probe showed."""

    name: str
    prints: Mapping[str, Fingerprint]
    series: Mapping[str, Series]
    ended: bool
    #: It ran, and did not fail.
    usable: bool
    #: Its copy of the project, and the files that it left there, relative to it.
    copy: Path | None = None
    left: tuple[str, ...] = ()
    #: Values of metrics that it reported in text alone.
    printed: Mapping[str, Series] = field(default_factory=dict)
    #: What a round of the main loop is called.
    word: str = "iteration"

    def beside(self, other: Outcome) -> dict[str, Series]:
        """Return the values to compare with those of another probe: of text, what both reported that came to their end.

        Of a line that is written over the text keeps the last state alone, which is where a probe was ended.
        """
        both = self.printed.keys() & other.printed.keys() if self.ended and other.ended else set[str]()
        return {**{name: each for name, each in self.printed.items() if name in both}, **self.series}


@dataclass(frozen=True)
class Conditions:
    """What is held still, or turned round, in a probe."""

    #: Kinds of causes, and what the runtime calls turned round: ``files-reversed``, ``memory-filled``.
    fixed: frozenset[str] = frozenset()
    #: PYTHONHASHSEED; empty: as the program has it.
    hash_seed: str = ""
    #: Begin with the files that this probe left.
    after: Outcome | None = None
    #: Draw otherwise than other probes under control: what they left may count only then, as a best value does.
    varied: bool = False
    #: Files of the project, relative to it, that the probe begins without.
    without: tuple[str, ...] = ()


#: Outcome of a probe that was not made, or from which nothing follows.
NOTHING = Outcome("", {}, {}, ended=False, usable=False)


@dataclass(frozen=True)
class Place:
    """How far a probe has to come to show that something makes it equal to another."""

    #: Where values differ, and how many of them a probe has to record; empty: it has to come to its end.
    metric: str = ""
    values: int = 0

    def is_passed(self, outcome: Outcome) -> bool:
        """Tell whether a probe came so far; one that failed did not."""
        series = outcome.beside(outcome).get(self.metric)
        return outcome.usable and (outcome.ended or (series is not None and len(series.values) >= self.values > 0))


def difference_place(pair: Sequence[Outcome], difference: Difference | None) -> Place:
    """Return the place of the first difference between two probes."""
    if difference is None:
        return Place()
    first, second = (outcome.beside(outcome).get(difference.metric) for outcome in pair)
    index = None if first is None or second is None else first.first_difference(second)
    return Place() if index is None else Place(difference.metric, index + 1)


def value_difference(one: Outcome, other: Outcome) -> Difference | None:
    """Return the first value in which two probes differ, as far as both went."""
    whole = one.ended and other.ended
    return first_difference(other.name, other.beside(one), one.name, one.beside(other), ended=whole, word=one.word)


def differ(one: Outcome, other: Outcome) -> bool:
    """Tell whether two probes reported other values, or have other weights; False where nothing tells."""
    if not (one.usable and other.usable):
        return False
    if value_difference(one, other) is not None:
        return True
    if any(is_made_otherwise(each, other.prints.get(name)) for name, each in one.prints.items()):
        return True
    return one.ended and other.ended and agree(one.prints.get(WEIGHTS), other.prints.get(WEIGHTS)) is False


# Look for the cause of a difference that no draw explains, by probes in which one usual cause is fixed.
#
# What holding it still makes equal, or what turning it round makes differ, is a cause.

#: What can be held still, in the order in which it is tried; what the source shows a line of comes first.
KINDS: tuple[Hidden, ...] = ("hash", "threads", "clock", "entropy", "memory", "files")

#: Probes that must agree before a cause is named, as two that race may agree by chance.
AGREEING = 3

#: Probes that must agree to say that something among all that is held still helps.
TRYING = 2

#: Hash seeds that are tried in turn: a set of two strings has the same order under every other one.
HASH_SEEDS = ("1", "2", "3", "4")

#: What turns each kind round, one after the other until values differ.
TURNED: dict[Hidden, tuple[str, ...]] = {"files": ("files-reversed", "files"), "memory": ("memory-filled", "memory")}

#: What may be another on another machine, or in a folder that was used before.
ELSEWHERE: tuple[Hidden, ...] = ("hash", "files", "memory", "leftovers")

#: Runs the command once, under control or as it is, on conditions.
Attempt = Callable[[bool, Conditions], Outcome]


class Search:
    """Finds causes, given how to run a command on conditions and where its source may let them in."""

    def __init__(self, attempt: Attempt, suspects: Sequence[Suspect]) -> None:
        self.attempt = attempt
        self.suspects = suspects

    def lines(self, kinds: Iterable[str]) -> list[Suspect]:
        """Return the lines of the source that are suspected of `kinds`."""
        wanted = set(kinds)
        return [suspect for suspect in self.suspects if suspect.kind in wanted]

    def explain(self, pair: Sequence[Outcome], *, controlled: bool, held: bool | None) -> list[Cause]:
        """Return what makes two probes differ that drew the same; `held`: two under control do not differ."""
        difference = value_difference(*pair)
        # Under control each process has the same hash seed anyhow.
        kinds = [kind for kind in self._in_order() if not (controlled and kind == "hash")]
        tries = _Tries(self.attempt, controlled, difference_place(pair, difference))
        helps = tries.agree(kinds, TRYING)
        causes: list[Hidden] = []
        if helps is not False:
            # Also where all of it at once ends the program, or delays it: each of it alone need not.
            alone = next(filter(tries.agree_alone, kinds), None)
            causes = [alone] if alone else []
        if helps and not causes:
            causes = [kind for kind in kinds if tries.agree(set(kinds) - {kind}, TRYING) is False]
        if not causes:
            return [Cause(kind="unknown", difference=difference, held=held, failed=tries.failed)]
        return [Cause(kind=kind, lines=self.lines([kind]), difference=difference, held=held) for kind in causes]

    def _in_order(self) -> list[Hidden]:
        suspected = {suspect.kind for suspect in self.suspects}
        return sorted(KINDS, key=lambda kind: kind not in suspected)

    def elsewhere(
        self, control: Outcome, known: Iterable[str], *, hash_seed_given: bool, own: Sequence[str] = ()
    ) -> list[Cause]:
        """Return what would make runs differ that are equal here; `control` is a probe that others repeat.

        Causes that are `known` are not looked for again. Where the user gives no hash seed, each run has its own.
        `own` are files of the project that the program writes itself, and so may be of an earlier run.
        """
        suspected = [kind for kind in ELSEWHERE if kind not in known and self.lines([kind])]
        together = [kind for kind in suspected if kind != "leftovers"]
        # All at once first: mostly nothing depends on any of them.
        kinds = together if any(differ(control, outcome) for outcome in self._turned(together)) else []
        causes = [
            cause
            for kind in kinds
            if (cause := self._cause(kind, control, self._turned([kind]), here=kind == "hash" and not hash_seed_given))
        ]
        if own and (cause := self._cause("leftovers", control, self._without(own), own)):
            causes.append(msgspec.structs.replace(cause, in_project=True))
        elif "leftovers" in suspected and control.left:
            fresh = self.attempt(True, Conditions(varied=True))
            used = (self.attempt(True, Conditions(varied=True, after=control)) for _ in range(1))
            causes += [cause for cause in [self._cause("leftovers", fresh, used, control.left)] if cause]
        return causes

    def _cause(
        self, kind: Hidden, control: Outcome, turned: Iterable[Outcome], left: Sequence[str] = (), *, here: bool = False
    ) -> Cause | None:
        outcome = next((outcome for outcome in turned if differ(control, outcome)), None)
        if outcome is None:
            return None
        difference = value_difference(control, outcome)
        lines = self.lines([kind])
        return Cause(kind=kind, lines=lines, difference=difference, here=here, held=True, files=list(left))

    def _without(self, files: Sequence[str]) -> Iterable[Outcome]:
        yield self.attempt(True, Conditions(without=tuple(files)))

    def _turned(self, kinds: Sequence[Hidden]) -> Iterable[Outcome]:
        """Yield probes in which these causes are others than as a rule, one after the other."""
        for turn in range(len(HASH_SEEDS) if "hash" in kinds else len(kinds) and TRYING):
            fixed = frozenset(TURNED[kind][turn % TRYING] for kind in kinds if kind in TURNED)
            yield self.attempt(True, Conditions(fixed=fixed, hash_seed=HASH_SEEDS[turn] if "hash" in kinds else ""))


class _Tries:
    """Probes in which something is held still, to see whether they agree then."""

    def __init__(self, attempt: Attempt, controlled: bool, place: Place) -> None:
        self.attempt = attempt
        self.controlled = controlled
        #: How far a probe has to come.
        self.place = place
        #: What was tried alone, and no probe came so far.
        self.failed: list[Hidden] = []

    def agree_alone(self, kind: Hidden) -> bool:
        """Tell whether holding one kind still makes probes agree."""
        agree = self.agree([kind], AGREEING)
        self.failed += [kind] if agree is None else []
        return agree is True

    def agree(self, kinds: Iterable[str], count: int) -> bool | None:
        """Tell whether probes agree in which `kinds` are held still; None where one fails or is ended too early."""
        conditions = Conditions(fixed=frozenset(kinds), hash_seed="0" if "hash" in kinds else "")
        first = self.attempt(self.controlled, conditions)
        if not self.place.is_passed(first):
            return None
        for _ in range(count - 1):
            outcome = self.attempt(self.controlled, conditions)
            if differ(first, outcome):
                return False
            if not self.place.is_passed(outcome):
                return None
        return True
