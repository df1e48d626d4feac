"""The command that makes an experiment again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from deviate.core.experiment import Experiment
from deviate.core.factors import DEFAULT_VARIANT, GROUPS
from deviate.core.shell_words import typed_line, typed_word


def run_command(experiment: Experiment, *more: str) -> str:
    """Return the line that makes the same experiment again, to be typed in its folder.

    `more` are further options. Variants with other numbers of runs need a command of their own. Secrets in the command
    stand as ``***``.
    """
    variables = [f"{name}={typed_word(value)}" for name, value in experiment.variables.items()]
    options = [*experiment.options, "--seed", str(experiment.seed)]
    until = experiment.until
    planned = {name: runs + experiment.needless.get(name, 0) for name, runs in experiment.planned.items()}
    if until is not None:
        planned = dict.fromkeys(planned, until.least)
        options = ["--until", until.text, "--max", str(until.most), *options]
    options += _then(experiment)
    lines = []
    for runs in dict.fromkeys(planned.values()):
        names = _short([name for name in planned if planned[name] == runs])
        vary = [word for name in names for word in ("--vary", name)]
        line = typed_line(["deviate", "run", "-n", str(runs), *vary, *more, *options, "--", *experiment.command])
        lines.append(" ".join([*variables, line]))
    return " && ".join(lines)


def grow_command(experiment: Experiment, variant: str, runs: int) -> str:
    """Return the line that adds runs to a variant until it has so many; what is usual is left out.

    Secrets in the command stand as ``***``.
    """
    variables = [f"{name}={typed_word(value)}" for name, value in experiment.variables.items()]
    vary = ["--vary", variant] if [*experiment.planned] != [DEFAULT_VARIANT] else []
    seed = ["--seed", str(experiment.seed)] if experiment.seed else []
    named = ["deviate", "run", "-n", str(runs), "--name", experiment.name, *vary, *experiment.options, *seed]
    return " ".join([*variables, typed_line([*named, *_then(experiment), "--", *experiment.command])])


def _then(experiment: Experiment) -> list[str]:
    """Return the options for the commands that evaluate runs; of others deviate.toml says more than their command."""
    typed = (step for step in experiment.evaluations if step.is_command_alone)
    return [word for step in typed for word in ("--then", shlex.join(step.command))]


def _short(names: Sequence[str]) -> list[str]:
    """Name groups of variants where all of a group are there."""
    groups = [group for group, members in GROUPS.items() if set(members) <= set(names)]
    covered = {member for group in groups for member in GROUPS[group]}
    return [*groups, *(name for name in names if name not in covered)]
