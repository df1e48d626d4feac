"""Caveats on what lies outside the project: inputs that changed, state that runs keep, processes that nobody saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deviate.collect.inherited import ChangedVariable
from deviate.collect.shared_files import ChangedInput, KeptState
from deviate.inference.experiment import ExperimentFacts
from deviate.report.text.caveat import Caveat
from deviate.report.text.words import listed
from deviate.results.run import RunResult

#: Files that are named.
NAMED = 3

#: Runs of a group that are named.
RUNS_NAMED = 3


def surrounding_caveats(facts: ExperimentFacts) -> Iterable[Caveat]:
    """Yield what makes runs no identical or independent runs, the gravest first."""
    yield from _unseen(facts)
    if facts.state_kept:
        yield Caveat(slug="state-kept", message=_kept(facts.state_kept))
    if facts.inputs_changed:
        yield Caveat(slug="input-differs", message=_changed(facts.inputs_changed))
    yield from _variables(facts.variables_changed)


def _unseen(facts: ExperimentFacts) -> Iterable[Caveat]:
    runs = [run for variant in facts.variants for run in variant.runs if run.unseen.commands]
    training, beside = ([run for run in runs if run.unseen.trains == trains] for trains in (True, False))
    if training:
        message = (
            f"{_commands(training)} ran without Deviate's instruments: nothing is known of what it drew, and nothing "
            "in it was varied or held. Start it without -I, -E and -S, with the environment that it is given."
        )
        yield Caveat(slug="process-not-instrumented", message=message)
    if beside:
        message = f"Not instrumented, beside the training: {_commands(beside)}."
        yield Caveat(slug="process-not-instrumented", message=message, severity="note")


def _commands(runs: Sequence[RunResult]) -> str:
    commands = dict.fromkeys(f"`{command}`" for run in runs for command in run.unseen.commands)
    return f"{listed(list(commands), most=NAMED)} ({listed([run.name for run in runs], most=RUNS_NAMED)})"


def _kept(kept: Sequence[KeptState]) -> str:
    first = kept[0]
    went_on = f"{listed(first.readers)} read what {listed(first.writers)} had left in {first.path}, outside the project"
    return (
        f"Runs went on from each other: {went_on}. They are not independent runs.{_others(kept)} Give each run a place "
        "of its own: `sh -c 'HOME=$PWD exec python ...'`, likewise XDG_CACHE_HOME or TMPDIR, or a relative folder by "
        "an option of the program."
    )


def _changed(changed: Sequence[ChangedInput]) -> str:
    first = changed[0]
    held = f"Runs differ in what {first.path} held when they read it: {_groups(first)}."
    return f"{held} They are not identical runs.{_others(changed)}"


def _others(files: Sequence[ChangedInput] | Sequence[KeptState]) -> str:
    others = [each.path for each in files[1:]]
    return f" The same holds for {listed(others, most=NAMED)}." if others else ""


def _groups(changed: ChangedInput) -> str:
    return " | ".join(listed(group, most=RUNS_NAMED) for group in changed.groups)


def _variables(changed: Sequence[ChangedVariable]) -> Iterable[Caveat]:
    for each in (each for each in changed if each.named):
        message = (
            f"Runs differ in the environment variable {each.path}, which the project names: {_groups(each)}. They are "
            "not identical runs in that respect."
        )
        yield Caveat(slug="environment-differs", message=message)
    if others := [each.path for each in changed if not each.named]:
        message = f"Runs differ in environment variables that the project does not name: {listed(others)}."
        yield Caveat(slug="environment-differs", message=message, severity="note")
