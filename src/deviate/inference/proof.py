"""What is proven of the runs of one variant: what was held and what varied, by fingerprints and by reported values.

It needs no statistics, so that `deviate show` can say it at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.collect.agreement import identities, record_tables, recorded_names
from deviate.collect.identity import Identity
from deviate.collect.observation import observe
from deviate.collect.runs import RunFiles, in_order
from deviate.collect.shared_files import ChangedInput, KeptState, SharedFiles, shared_files
from deviate.experiment import Experiment
from deviate.factors import SEEDED, find_variant
from deviate.inference.evidence import Evidence, evidence_of
from deviate.replicate.workspace.folders import ExperimentFolder
from deviate.results.run import RunResult, run_result


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
    #: The program sets seeds, which were replaced.
    own_seeds: bool = False
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
    evidence = evidence_of(find_variant(name), runs)
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
