"""In which environment variables runs of an experiment differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from deviate.collect.runs import RunFiles
from deviate.collect.shared_files import ChangedInput
from deviate.replicate.environment.inherited import differing, named_in
from deviate.replicate.snapshot.surroundings import TEXT_SUFFIXES
from deviate.replicate.workspace.folders import ExperimentFolder


class ChangedVariable(ChangedInput, frozen=True, kw_only=True):
    """An environment variable that was not the same for all runs; `path` is its name."""

    #: The project's source or its command names it, so that it may decide.
    named: bool


def changed_variables(folder: ExperimentFolder, runs: Iterable[RunFiles]) -> list[ChangedVariable]:
    """Return the variables in which runs of an experiment differ; runs that did not note theirs say nothing."""
    known = {run.name: run.info.inherited or {} for run in runs if run.info is not None and run.info.inherited}
    reference = next(iter(known.values()), {})
    names = sorted({name for each in known.values() for name in differing(reference, each)})
    named = names_in_project(folder, names)
    changed = []
    for name in names:
        groups: dict[str | None, list[str]] = {}
        for run, values in known.items():
            groups.setdefault(values.get(name), []).append(run)
        changed.append(ChangedVariable(path=name, groups=list(groups.values()), named=name in named))
    return changed


def names_in_project(folder: ExperimentFolder, names: Sequence[str]) -> list[str]:
    """Return those of `names` that the project's text files or the command name."""
    return named_in([*folder.read_experiment().command, *_texts(folder)], names) if names else []


def _texts(folder: ExperimentFolder) -> Iterator[str]:
    for path in folder.snapshot.rglob("*"):
        with suppress(OSError):
            if path.suffix in TEXT_SUFFIXES and path.is_file():
                yield path.read_text(encoding="utf-8", errors="replace")
