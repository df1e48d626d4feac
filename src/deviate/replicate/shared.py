"""A run that is not trained because another one draws the same: its folder holds the files of that one."""

from __future__ import annotations

import os
import shutil

import msgspec

from deviate.experiment import Run
from deviate.factors import parse_variant, run_seeds
from deviate.replicate.prepare import discard
from deviate.replicate.workspace.folders import ExperimentFolder, RunFolder
from deviate.replicate.workspace.integrity import damage
from deviate.replicate.workspace.run_files import Outcome

#: Files that say what a run is, and how it went; the folder that it ran in, which stays with the one that did; and what
#: `share_steps` brings.
_OWN = frozenset({"run.json", "outcome.json", "work", "steps"})


def share_run(folder: ExperimentFolder, run: Run, twin: Run, outcome: Outcome, seed: int) -> None:
    """Make the folder of `run` of the files of `twin`, which ended with `outcome`; `seed` is the experiment's."""
    own, other = folder.run(run), folder.run(twin)
    info = other.read_info()
    assert info is not None  # it was started, since it has an outcome
    discard(own.path)
    shutil.copytree(other.path, own.path, ignore=lambda _, names: _OWN.intersection(names), copy_function=_link)
    seeds = run_seeds(parse_variant(run.variant), seed, run.index)
    own.write_info(
        msgspec.structs.replace(info, variant=run.variant, index=run.index, seeds=seeds, same_as=twin.folder)
    )
    own.write_outcome(outcome)


def share_steps(folder: ExperimentFolder) -> None:
    """Bring what evaluations recorded of runs to those that share their training."""
    for run in folder.runs():
        info = run.read_info()
        if info is None or not info.same_as:
            continue
        for step in folder.find_run(info.same_as).steps():
            target = run.path / "steps" / step.path.name
            if step.is_done and not _is_brought(step, RunFolder(target, run.run)):
                aside = target.with_name(f".{target.name}.partial")
                shutil.rmtree(aside, ignore_errors=True)
                shutil.copytree(step.path, aside, copy_function=_link)
                discard(target)
                aside.rename(target)


def _is_brought(step: RunFolder, own: RunFolder) -> bool:
    """Tell whether `own` has what the step recorded last, undamaged."""
    if not own.outcome_file.is_file() or own.outcome_file.read_bytes() != step.outcome_file.read_bytes():
        return False
    outcome = own.read_outcome()
    return outcome is not None and not damage(own, outcome)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        # Not every file system has links.
        shutil.copy2(source, target)
    return target
