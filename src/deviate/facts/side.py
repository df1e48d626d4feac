"""One side of a comparison: the runs of one variant of an experiment.

The command that makes an experiment again.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction, Experiment, Until
from deviate.core.factors import DEFAULT_VARIANT, GROUPS
from deviate.core.shell_words import typed_line, typed_word
from deviate.facts.groups import NO_GROUPS, GroupOptions
from deviate.facts.predictions import Evaluation
from deviate.facts.samples import DEFAULTS, Sample, SampleOptions, settle_options
from deviate.facts.stored import Results, choose_variant, find_experiment, read_results
from deviate.lexicon.words import missing_name, same_name
from deviate.observe.fingerprints import Fingerprint
from deviate.observe.metrics import TIMES, remember_directions
from deviate.store.folders import Workspace


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


#: Parts of an environment that another project, another moment or Deviate itself makes differ.
_EXPECTED = ("git", "argv", "cwd", "executable", "variables", "cores")

#: Times come after all other metrics, in this order.
_TIMES = {time.name: index for index, time in enumerate(TIMES)}


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one variant of one experiment."""

    #: What the user typed.
    label: str
    experiment: str
    variant: str
    completed: int
    #: Runs that ended, completed or not.
    ended: int
    #: In the order of the experiment.
    samples: list[Sample]
    #: Of the first completed run that recorded one, as text; nested parts are named ``libraries.torch``.
    environment: dict[str, str] = {}
    #: Run index -> fingerprints by name, of the completed runs.
    prints: dict[int, dict[str, Fingerprint]] = {}
    #: What the source calls each run, by its index; empty where Deviate ran it.
    labels: dict[int, str] = {}
    #: What its models predicted, see `evaluations_by_variant`.
    evaluations: list[Evaluation] = []
    #: The variant was not typed, and the experiment has several.
    assumed: bool = False
    #: When the experiment was made; empty for imported results.
    created: str = ""
    #: What decided how many runs were made; None where the user did.
    until: Until | None = None
    #: Which values are better of the metrics that the user says it of.
    directions: dict[str, Direction] = {}
    #: None where it was imported.
    made: Experiment | None = None
    #: Runs that went on side by side.
    jobs: int = 1

    def sample(self, name: str, option: str) -> Sample:
        """Return the sample of the metric that an option names.

        Raises BadOption with the metrics there are, if the side has none of that name.
        """
        names = [sample.name for sample in self.samples]
        match = same_name(name, names)
        if match is None:
            raise BadOption(*missing_name(name, names, f"{option}: no metric {name!r} in {self.label}"))
        return self.samples[names.index(match)]


def read_sides(
    workspace: Workspace, names: Sequence[str], options: SampleOptions = DEFAULTS, groups: GroupOptions = NO_GROUPS
) -> list[Side]:
    """Read the runs that each ``EXPERIMENT`` or ``EXPERIMENT:VARIANT`` names, the files of an experiment once.

    Raises UnknownExperiment if there is no such experiment. Raises BadOption if it has no such variant, or no completed
    run of it; if two names mean the same runs; if an option names a metric that no experiment has.
    """
    read: dict[str, Results] = {}
    sides: list[Side] = []
    for name in names:
        folder, variant = find_experiment(workspace, name)
        if folder.name not in read:
            read[folder.name] = read_results(folder, options, partial=True, groups=groups)
        results = read[folder.name]
        chosen = choose_variant(folder, results.variants, variant)
        sides.append(make_side(results, chosen, name, assumed=not variant and len(results.variants) > 1))
    _check_distinct(sides)
    settle_options(options, [name for each in read.values() for name, _ in each.names])
    return sides


def remember_typed(workspace: Workspace, sides: Sequence[Side], options: SampleOptions) -> None:
    """Remember which values of metrics are better, as it was typed for these sides."""
    names = [sample.name for side in sides for sample in side.samples]
    remember_directions(workspace, settle_options(options, names, partial=True).directions)


def make_side(results: Results, variant: str, label: str, *, assumed: bool = False) -> Side:
    """Return the runs of one variant as a side.

    Raises BadOption if none of them completed.
    """
    runs = results.runs_of(variant)
    completed = [run for run in runs if run.status == "completed"]
    name = results.experiment.name
    if not completed:
        raise BadOption(
            f"no run of {variant} in experiment {name!r} completed",
            hint=f"`deviate show {typed_word(name)}` says how each run went",
        )
    return Side(
        label=label,
        experiment=name,
        variant=variant,
        completed=len(completed),
        ended=len(runs),
        samples=sorted(results.samples.get(variant, []), key=lambda sample: _TIMES.get(sample.name, -1)),
        environment={
            part: text for part, text in _flat(results.environments.get(variant, {})) if not part.startswith(_EXPECTED)
        },
        prints={run.index: run.prints for run in completed},
        labels={run.index: run.label for run in completed if run.label},
        evaluations=results.evaluations.get(variant, []),
        assumed=assumed,
        created="" if results.experiment.imported else results.experiment.created,
        until=results.experiment.until,
        directions=results.directions,
        made=None if results.experiment.imported else results.experiment,
        jobs=1 + max(run.slot or 0 for run in completed),
    )


def command_for(side: Side, runs: int) -> str:
    """Return the command that brings a side to so many runs; empty where it has them or was imported."""
    if side.made is None or side.completed >= runs:
        return ""
    return grow_command(side.made, side.variant, runs)


def _check_distinct(sides: Sequence[Side]) -> None:
    labels: dict[tuple[str, str], str] = {}
    for side in sides:
        key = (side.experiment, side.variant)
        if key in labels:
            raise BadOption(
                f"{labels[key]!r} and {side.label!r} are the same runs",
                hint="compare two experiments, or two variants of one: NAME:VARIANT",
            )
        labels[key] = side.label


def _flat(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    flat: list[tuple[str, str]] = []
    for name, value in parts.items():
        if isinstance(value, Mapping):
            flat += [(f"{name}.{inner}", text) for inner, text in _flat(value)]
        else:
            flat.append((name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    return flat
