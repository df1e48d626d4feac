"""What is proven of the runs of one variant: what was held and what varied, by fingerprints and by reported values.

It needs no statistics, so that `deviate show` can say it at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.core.experiment import Experiment
from deviate.core.factors import DATA, OTHER, SEEDED, Variant, find_variant
from deviate.facts.run import RunResult, run_result
from deviate.observe.fingerprints import (
    BATCHES,
    EXAMPLES,
    IN_BATCHES,
    INPUT,
    NAMES,
    are_comparable,
    classes,
    count_example_sets,
    is_constant,
    is_of_other_examples,
    is_replaced,
)
from deviate.observe.identity import Identity
from deviate.observe.observation import identities, observe, record_tables, recorded_names
from deviate.observe.records import RunFiles, in_order
from deviate.observe.surroundings import ChangedInput, KeptState, SharedFiles, shared_files
from deviate.store.folders import ExperimentFolder

# What fingerprints prove of a variant: which factors varied, which were held, and which promise was broken.

#: What a variant wants of a factor; ``follows``: it is the outcome of others; ``left``: nothing is wanted.
Meant = Literal["varies", "held", "follows", "left"]

#: What the fingerprints show. ``partly``: some runs are equal and some are not; ``unknown``: too few runs show it.
Shown = Literal["varied", "identical", "partly", "absent", "unknown"]

#: Fingerprints of content that is computed, not only drawn.
_COMPUTED = frozenset(("init", BATCHES, EXAMPLES, INPUT))

#: What the first input of the training is made of: noise that a generator takes, for instance, is of `other`.
_IN_INPUT = IN_BATCHES | {"other"}


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What fingerprints show of one factor, of the batches or of the final weights, over the runs of a variant."""

    name: str
    meant: Meant
    found: Shown
    #: Names of the runs, those together that have the same fingerprint.
    groups: list[list[str]]
    #: The variant promised otherwise.
    broken: bool = False
    #: Some runs drew more often than others.
    unequal: bool = False


def evidence_of(variant: Variant | None, runs: Sequence[RunResult], *, alike: bool = False) -> list[Evidence]:
    """Judge each fingerprint of the completed runs of a variant; `alike`: all that they reported is equal.

    Empty where nothing was looked at: the program left as it is, or no run whose processes recorded anything. Runs
    without a fingerprint that are alike and were watched drew nothing.
    """
    completed = [run for run in runs if run.status == "completed"]
    drew_nothing = alike and variant is not None and variant.observed and all(run.watched for run in completed)
    if variant is None or not (drew_nothing or any(run.prints for run in completed)):
        return []
    prints = [run.prints for run in completed]
    # Not every program shows its examples and inputs, and other ones do not always prove that examples are others.
    shown = {INPUT: any(INPUT in each for each in prints), EXAMPLES: are_comparable(prints)}
    names = [name for name in NAMES if shown.get(name, True)]
    fixed = shown[EXAMPLES] and all(EXAMPLES in each for each in prints) and count_example_sets(prints) == 1
    return [_evidence(name, variant, completed, fixed=fixed) for name in names]


def broken(evidence: Sequence[Evidence], name: str) -> Evidence | None:
    """Return what shows that a promise about `name` was broken; None where nothing does."""
    return next((each for each in evidence if each.name == name and each.broken), None)


def _evidence(name: str, variant: Variant, runs: Sequence[RunResult], *, fixed: bool) -> Evidence:
    """Judge one fingerprint; `fixed`: all runs are known to have had the same examples."""
    seen = [run for run in runs if name in run.prints]
    if is_constant([run.prints[name] for run in seen]):
        seen = []
    groups = classes([run.name for run in seen], [run.prints[name] for run in seen])
    meant, shown = _meant(name, variant), _shown(groups, len(seen), len(runs))
    if shown == "absent" and any(name in run.drawn and name not in run.prints for run in runs):
        shown = "unknown"  # from a generator that was gone before it was looked at
    # Weights that are read from a file take the place of what was drawn; an order is one of the examples there are.
    replaced = shown == "identical" and is_replaced([run.prints[name] for run in seen])
    follows = name == "shuffle" and is_of_other_examples([run.prints for run in runs], name)
    # What an agent meets, for instance, follows from its actions.
    follows |= name == EXAMPLES and bool(variant.varying) and any(OTHER in run.prints for run in runs)
    return Evidence(
        name=name,
        meant=meant,
        found=shown,
        groups=groups,
        broken=_is_broken(name, meant, shown, variant, fixed=fixed) and not replaced and not follows,
        unequal=len({(run.prints[name].count, run.prints[name].length) for run in seen}) > 1,
    )


def _meant(name: str, variant: Variant) -> Meant:
    if not variant.controlled:
        return "left"
    if name in SEEDED:
        return "varies" if name in variant.varying else "held"
    before = {BATCHES: IN_BATCHES, EXAMPLES: frozenset((DATA,)), INPUT: _IN_INPUT}.get(name)
    if before is not None:
        return "follows" if variant.varying & before else "held"
    return "follows" if variant.varying or variant.disturbed else "held"


def _shown(groups: list[list[str]], seen: int, runs: int) -> Shown:
    if not seen:
        return "absent"
    if seen < runs or runs < 2:
        return "unknown"
    if len(groups) == 1:
        return "identical"
    return "varied" if len(groups) == seen else "partly"


def _is_broken(name: str, meant: Meant, shown: Shown, variant: Variant, *, fixed: bool) -> bool:
    if meant == "held" and name in (BATCHES, INPUT) and variant.varying and not fixed:
        # A buffer of what an agent met, for instance, follows from its weights.
        return False
    if meant == "held":
        # Weights and data that another processor's instructions compute differ in their last bits, and so do weights
        # with a bit turned over.
        return shown in ("varied", "partly") and not (name in _COMPUTED and variant.disturbed)
    return meant == "varies" and shown in ("identical", "partly")


class VariantProof(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one variant and what is proven of them."""

    variant: str
    planned: int
    completed: int
    runs: list[RunResult]
    #: By fingerprint; empty where none was taken.
    evidence: list[Evidence] = []
    #: How far the values that completed runs reported agree; None with fewer than two runs.
    identity: Identity | None = None
    #: Factors that nothing was drawn for.
    absent: list[str] = []
    #: Thread counts of the completed runs; None where a run's was not pinned.
    threads: list[int | None] = []
    #: Nothing but the number of threads decides the order of sums, and that is pinned.
    without_noise: bool = False
    #: Files that runs read outside the project and that were not the same for all, and those by which one run goes on
    #: from another.
    changed: list[ChangedInput] = []
    kept: list[KeptState] = []
    #: Every completed run told which files it read.
    files_known: bool = False

    @property
    def unseen(self) -> list[str]:
        """Programs of the completed runs that trained, or may have, where nobody saw what they drew."""
        seen = (run.unseen for run in self.runs if run.status == "completed")
        return list(dict.fromkeys(command for each in seen if each.trains for command in each.commands))

    @property
    def unwatched(self) -> list[str]:
        """Factors that lines of the project drew for, from generators whose draws no run shows."""
        return [each.name for each in self.evidence if each.found == "unknown" and not each.groups]

    @property
    def unvaried(self) -> list[str]:
        """Factors that were to vary and were the same in all runs, as weights are that a file gives."""
        return [each.name for each in self.evidence if each.meant == "varies" and each.found == "identical"]

    @property
    def files_held(self) -> bool:
        """Whether it is known which files were read outside the project, and that they were the same."""
        return self.files_known and not (self.changed or self.kept)

    @property
    def draws(self) -> bool | None:
        """Whether a run drew for a factor that was looked at; None where none was."""
        drawn = [each for each in self.evidence if each.name in SEEDED]
        return any(each.found != "absent" for each in drawn) if drawn else None


def variant_proof(
    experiment: Experiment,
    name: str,
    runs: Sequence[RunResult],
    identity: Identity | None,
    shared: SharedFiles,
) -> VariantProof:
    """Return what is proven of a variant by its runs that have ended, by index.

    `identity` says how far the values that its completed runs reported agree; `shared` is of all runs.
    """
    completed = [run for run in runs if run.status == "completed"]
    trained = {run.name for run in completed if not run.same_as}
    shared = shared.of(trained)
    alike = identity is not None and identity.identical and identity.values > 0
    evidence = evidence_of(find_variant(name), runs, alike=alike)
    return VariantProof(
        variant=name,
        planned=max(experiment.planned.get(name, 0), len(runs)),
        completed=len(completed),
        runs=list(runs),
        evidence=evidence,
        identity=identity,
        absent=[each.name for each in evidence if each.name in SEEDED and each.found == "absent"],
        threads=sorted({run.threads for run in completed}, key=lambda threads: threads or 0),
        without_noise=bool(completed) and all(run.threads is not None and not run.has_gpu for run in completed),
        changed=shared.changed,
        kept=shared.kept,
        files_known=trained <= set(shared.known),
    )


def read_proofs(folder: ExperimentFolder, runs: Sequence[RunFiles]) -> list[VariantProof]:
    """Return what is proven of each variant of an experiment; `runs` are all of its runs."""
    experiment = folder.read_experiment()
    files = [run for run in runs if run.outcome is not None]
    completed = in_order((run for run in files if run.completed), experiment)
    tables = record_tables(experiment, completed)
    observation = observe(completed, tables, metrics=experiment.metrics)
    agreement = identities(experiment, completed, recorded_names(tables), observation)
    results = [run_result(run, experiment) for run in files]
    shared = shared_files(completed)
    return [
        variant_proof(experiment, name, [run for run in results if run.variant == name], agreement.get(name), shared)
        for name in dict.fromkeys([*experiment.planned, *(run.variant for run in results)])
    ]
