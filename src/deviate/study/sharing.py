"""Which runs of several variants draw the same, so that one training serves them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from deviate.collect.events import threads, used_gpu
from deviate.collect.runs import read_run
from deviate.experiment import Run
from deviate.factors import IMPLEMENTATION, SEEDED, Variant, find_variant
from deviate.replicate.workspace.folders import ExperimentFolder

#: Varies with its seed although nothing is drawn for it: the seed orders sets and dictionaries of strings, too
#: (PYTHONHASHSEED).
ALWAYS = "other"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a completed run shows of an experiment."""

    #: Factors that it did not draw for.
    absent: frozenset[str]
    #: Its threads were pinned, and it used no GPU.
    without_noise: bool


def seen(folder: ExperimentFolder) -> Seen | None:
    """Return what the first completed run shows whose draws were looked at; None where there is none."""
    for each in folder.completed_runs():
        run = read_run(each)
        if prints := run.fingerprints:
            return Seen(
                absent=frozenset(name for name in SEEDED if name not in prints or prints[name].is_undrawn),
                without_noise=threads(run) is not None and not used_gpu(run),
            )
    return None


@dataclass
class Sharing:
    """Decides for each run of a call whether another one's training is its own.

    Two runs draw the same where the factors that vary in their variants, and that are drawn for, are the same, and so
    is their index; those with index 0 always do. Where the implementation varies each run is trained, unless
    `skip_alike`, and nothing of it was seen that could vary.
    """

    folder: ExperimentFolder
    planned: Mapping[str, int]
    skip_alike: bool = False
    known: Seen | None = None

    @property
    def waits(self) -> bool:
        """Tell whether what the first run draws for may decide which of the others are trained."""
        return self.skip_alike or any(self._varying(name) for name in self.planned)

    def twin(self, run: Run) -> Run | None:
        """Return the run whose training is also this one's; itself where it is to be trained, None where neither is."""
        self.known = self.known or seen(self.folder)
        own = self._varying(run.variant)
        if own is None:
            return run
        alike = [
            name
            for name, runs in sorted(self.planned.items(), key=lambda each: each[0] != "control")
            if runs > run.index and (varying := self._varying(name)) is not None and (varying == own or not run.index)
        ]
        if own or not run.index or alike[0] == "control":
            return Run(variant=alike[0], index=run.index)
        # All runs of all these variants are one training; that it repeats is for `control` to prove.
        return None

    def _varying(self, name: str) -> frozenset[str] | None:
        """Return what varies between the runs of a variant and is drawn for; None where its runs stand alone."""
        variant = find_variant(name)
        if variant is None or not variant.controlled or variant.disturbed:
            return None
        absent = (self.known.absent - {ALWAYS}) if self.known else frozenset()
        if self.skip_alike and self.known and self.known.without_noise:
            absent |= {IMPLEMENTATION}
        varying = variant.varying - absent
        return None if IMPLEMENTATION in varying else varying


def likely_alike(planned: Mapping[str, int], known: Seen | None) -> list[tuple[str, str]]:
    """Return variants, each with one whose runs are likely to equal its own: only the implementation differs.

    It does not vary where threads are pinned and no GPU is used, as far as is known before more runs are made.
    """
    if known is None or not known.without_noise:
        return []
    variants = [variant for name in planned if (variant := find_variant(name)) and variant.controlled]
    plain = [variant for variant in variants if not variant.disturbed]
    held = {variant.drawn - (known.absent - {ALWAYS}): variant.name for variant in plain if not _is_noisy(variant)}
    pairs = ((each.name, held.get(each.drawn - (known.absent - {ALWAYS}))) for each in plain if _is_noisy(each))
    return [(noisy, other) for noisy, other in pairs if other is not None]


def _is_noisy(variant: Variant) -> bool:
    return IMPLEMENTATION in variant.varying
