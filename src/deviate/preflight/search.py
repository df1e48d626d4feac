"""Look for the cause of a difference that no draw explains, by probes in which one usual cause is fixed.

What holding it still makes equal, or what turning it round makes differ, is a cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from deviate.analyse.unseen import Hidden, Suspect
from deviate.preflight.causes import (
    Cause,
    Conditions,
    Outcome,
    Place,
    differ,
    difference_place,
    value_difference,
)

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
