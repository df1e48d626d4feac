"""Compare experiments: from what the user typed to all that is said."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import get_args

from deviate.contrast.multiplicity import CORRECTIONS
from deviate.errors import BadOption
from deviate.factors import DEFAULT_VARIANT
from deviate.replicate.workspace import ExperimentFolder, Workspace
from deviate.report.comparison.build import build_comparison
from deviate.report.comparison.gather import gather_side
from deviate.report.comparison.inputs import Asked, Pairing, Side
from deviate.report.comparison.parts import Comparison
from deviate.report.names import same_name


def compare(
    workspace: Workspace, names: Sequence[str], asked: Asked, aggregates: Mapping[str, str] | None = None
) -> Comparison:
    """Compare two or more experiments of a workspace.

    Parameters
    ----------
    workspace : Workspace
        Where they are.
    names : sequence of str
        Each ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``.
    asked : Asked
        What the user wants to know.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments'.

    Raises
    ------
    UnknownExperiment
        If a name is none.
    BadOption
        If the options do not fit each other or the experiments.
    """
    check_asked(asked)
    if len(names) < 2:
        raise BadOption("a comparison has two sides or more", hint=_second_side(workspace, names))
    sides = [read_side(workspace, name, aggregates or {}) for name in names]
    _check_distinct(sides)
    check_aggregates(sides, aggregates or {})
    return build_comparison(sides, asked, shlex.join(typed(names, asked, aggregates or {})))


def typed(names: Sequence[str], asked: Asked, aggregates: Mapping[str, str]) -> list[str]:
    """Return the words of the command that asks the same.

    Examples
    --------
    >>> typed(["a", "b"], Asked(alpha=0.01, metrics=["test acc"]), {"test acc": "best"})[3:]
    ['b', '--metric', 'test acc', '--alpha', '0.01', '--aggregate', 'test acc=best']
    """
    usual = Asked()
    plain = {"alpha": f"{asked.alpha:g}", "correction": asked.correction, "pairing": asked.pairing, "seed": asked.seed}
    named: dict[str, Mapping[str, object]] = {
        "match": asked.matches, "margin": asked.margins, "direction": asked.directions, "aggregate": aggregates,
    }  # fmt: skip
    return [
        "deviate", "compare", *names,
        *(word for metric in asked.metrics for word in ("--metric", metric)),
        *(word for option, value in plain.items() if getattr(asked, option) != getattr(usual, option)
          for word in (f"--{option}", str(value))),
        *(word for option, values in named.items() for metric, value in values.items()
          for word in (f"--{option}", f"{metric}={value}")),
    ]  # fmt: skip


def read_side(workspace: Workspace, name: str, aggregates: Mapping[str, str] | None = None) -> Side:
    """Read the runs that ``EXPERIMENT`` or ``EXPERIMENT:VARIANT`` names.

    Raises
    ------
    UnknownExperiment
        If there is no such experiment.
    BadOption
        If it has no such variant, or no completed run of it.
    """
    folder, wanted = _find(workspace, name)
    variants = list(dict.fromkeys([*folder.read_experiment().planned, *(run.run.variant for run in folder.runs())]))
    variant = choose_variant(folder, variants, wanted)
    side = gather_side(folder, variant, name, assumed=not wanted and len(variants) > 1, aggregates=aggregates or {})
    if not side.completed:
        raise BadOption(
            f"no run of {variant} in experiment {folder.name!r} completed",
            hint=f"`deviate show {folder.name}` says how each run went",
        )
    return side


def choose_variant(folder: ExperimentFolder, variants: Sequence[str], wanted: str = "") -> str:
    """Return the variant that is meant: the one named, else the only one there is, else the default one.

    Raises
    ------
    BadOption
        With the variants there are, if none is meant.
    """
    variant = wanted or _default(folder, variants)
    if variant not in variants:
        raise BadOption(
            f"experiment {folder.name!r} has no variant {variant!r}", hint=f"variants: {', '.join(variants) or 'none'}"
        )
    return variant


def check_asked(asked: Asked) -> None:
    """Refuse what cannot be asked.

    Raises
    ------
    BadOption
        If a number or a word is not one of those expected.
    """
    if not 0 < asked.alpha < 1:
        raise BadOption(f"alpha lies between 0 and 1, found {asked.alpha:g}", hint="type --alpha 0.05, or --level 0.95")
    if asked.correction not in CORRECTIONS:
        raise BadOption(
            f"--correction {asked.correction!r} is none of {', '.join(CORRECTIONS)}", hint="type --correction holm"
        )
    if asked.pairing not in get_args(Pairing):
        raise BadOption(f"--pairing {asked.pairing!r} is none of auto, on, off", hint="type --pairing auto")
    for metric, margin in asked.margins.items():
        if not (margin > 0 and math.isfinite(margin)):
            raise BadOption(
                f"--margin {metric}={margin:g}: a margin is a number above 0",
                hint=f"give the smallest difference that matters: --margin '{metric}=0.5'",
            )
    for metric, direction in asked.directions.items():
        if direction not in ("higher", "lower"):
            raise BadOption(
                f"--direction {metric}={direction}: expected higher or lower",
                hint=f"type --direction '{metric}=higher'",
            )


def check_aggregates(sides: Sequence[Side], aggregates: Mapping[str, str]) -> None:
    """Refuse an aggregate of a metric that no side has.

    Raises
    ------
    BadOption
        With the metrics of the first side.
    """
    names = list(dict.fromkeys(found.name for side in sides for found in side.metrics))
    for metric in aggregates:
        if same_name(metric, names) is None:
            known = ", ".join(found.name for found in sides[0].metrics)
            raise BadOption(f"--aggregate: no metric {metric!r} was recorded", hint=f"metrics: {known or 'none'}")


def _second_side(workspace: Workspace, names: Sequence[str]) -> str:
    there = ", ".join(workspace.names())
    if not there:
        return "no experiment here yet; make one with: deviate run"
    return f"type: deviate compare {shlex.join(names) or 'A'} B; experiments here: {there}"


def _find(workspace: Workspace, name: str) -> tuple[ExperimentFolder, str]:
    """Take a name as a whole for an experiment's first: names may hold colons."""
    before, colon, after = name.rpartition(":")
    if name in workspace.names() or not colon or before not in workspace.names():
        return workspace.find_experiment(name if name in workspace.names() or not colon else before), ""
    return workspace.find_experiment(before), after


def _default(folder: ExperimentFolder, variants: Sequence[str]) -> str:
    if len(variants) == 1:
        return variants[0]
    if DEFAULT_VARIANT in variants:
        return DEFAULT_VARIANT
    raise BadOption(
        f"experiment {folder.name!r} has {len(variants)} variants: {', '.join(variants) or 'none yet'}",
        hint=f"name one: {folder.name}:{variants[0]}" if variants else "make runs with: deviate run",
    )


def _check_distinct(sides: Sequence[Side]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for side in sides:
        key = (side.experiment, side.variant)
        if key in seen:
            raise BadOption(
                f"{seen[key]!r} and {side.label!r} are the same runs",
                hint="compare two experiments, or two variants of one: NAME:VARIANT",
            )
        seen[key] = side.label
