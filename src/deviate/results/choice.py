"""The experiment and the variant that a user names."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.errors import BadOption
from deviate.factors import DEFAULT_VARIANT
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace


def find_experiment(workspace: Workspace, name: str) -> tuple[ExperimentFolder, str]:
    """Return the experiment of ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``, and the variant; empty where none is named.

    A name as a whole is an experiment's first: names may hold colons.

    Raises
    ------
    UnknownExperiment
        If there is no such experiment.
    """
    before, colon, after = name.rpartition(":")
    names = workspace.names()
    if name in names or not colon or before not in names:
        return workspace.find_experiment(name if name in names or not colon else before), ""
    return workspace.find_experiment(before), after


def choose_variant(folder: ExperimentFolder, variants: Sequence[str], name: str = "") -> str:
    """Return the variant that is meant: the one named, else the only one there is, else the default one.

    Raises
    ------
    BadOption
        With the variants there are, if none is meant.
    """
    variant = name or _default(folder, variants)
    if variant not in variants:
        raise BadOption(
            f"experiment {folder.name!r} has no variant {variant!r}", hint=f"variants: {', '.join(variants) or 'none'}"
        )
    return variant


def _default(folder: ExperimentFolder, variants: Sequence[str]) -> str:
    if len(variants) == 1:
        return variants[0]
    if DEFAULT_VARIANT in variants:
        return DEFAULT_VARIANT
    raise BadOption(
        f"experiment {folder.name!r} has {len(variants)} variants: {', '.join(variants) or 'none yet'}",
        hint=f"name one: {folder.name}:{variants[0]}" if variants else "make runs with: deviate run",
    )
