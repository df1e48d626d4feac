"""``deviate show``: an experiment, its metrics and how each of its runs went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.options import experiment_names, only_experiment
from deviate.cli.printing import examples, say, say_json
from deviate.core.shell_words import typed_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deviate.core.experiment import Step
    from deviate.facts.live import State
    from deviate.observe.records import RunFiles
    from deviate.store.folders import ExperimentFolder


@click.command("show", epilog=examples("deviate show base", "deviate show base --json"))
@click.argument("name", required=False, shell_complete=experiment_names)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str | None, as_json: bool) -> None:
    """Show how an experiment was made and how each run ended.

    NAME may be left out where there is one experiment.
    """
    from deviate.store.folders import Workspace

    folder = Workspace.nearest(Path.cwd()).find_experiment(name or only_experiment("show"))
    if as_json:
        say_json(json.dumps(facts(folder), indent=1))
    else:
        say(*_lines(folder))


def facts(folder: ExperimentFolder) -> dict[str, Any]:
    """Return all that the experiment's files say, as plain data."""
    import msgspec

    from deviate.facts.proof import read_proofs
    from deviate.report.topics.proof import identity_statement

    runs = _read_runs(folder)
    return {
        **msgspec.to_builtins(folder.read_experiment()),
        "runs": [_run_facts(run) for run in runs],
        "variants": [
            {
                "variant": proof.variant,
                "identity": identity_statement(proof),
                "evidence": msgspec.to_builtins(proof.evidence),
            }
            for proof in read_proofs(folder, runs)
        ],
    }


def _read_runs(folder: ExperimentFolder) -> list[RunFiles]:
    from deviate.observe.records import read_run

    return [read_run(run) for run in folder.runs()]


def _run_facts(run: RunFiles) -> dict[str, Any]:
    import msgspec

    return {
        "run": run.name,
        "info": msgspec.to_builtins(run.info),
        "outcome": msgspec.to_builtins(run.outcome),
        "fingerprints": msgspec.to_builtins(run.fingerprints),
    }


def _lines(folder: ExperimentFolder) -> list[str]:
    from deviate.report.words import count
    from deviate.runs.snapshot.manifest import read_snapshot

    experiment = folder.read_experiment()
    if experiment.imported is not None:
        from deviate.cli.import_ import shown_lines

        return shown_lines(folder)
    snapshot, runs = read_snapshot(folder), _read_runs(folder)
    states = _states(folder) if any(run.outcome is None or run.folder.worker.is_dir() for run in runs) else {}
    loop = experiment.main_loop
    planned = ", ".join(f"{variant} × {runs}" for variant, runs in experiment.planned.items())
    return [
        f"experiment   {experiment.name}",
        f"command      {typed_line(experiment.command)}",
        f"folder       {folder.project / experiment.folder}",
        f"planned      {planned}, seed {experiment.seed}",
        f"main loop    {f'{loop.file}:{loop.line}' if loop else 'none found'}",
        f"snapshot     {count(len(snapshot.digests), 'file')} copied, {len(snapshot.linked)} linked",
        *(f"  left out   {item.path}  ({item.reason})" for item in snapshot.left_out if item.reason not in _DULL),
        *(f"  linked     {item.path}  ({item.reason})" for item in snapshot.linked),
        *(f"  outside    {item.path}" for item in snapshot.outside if item.named),
        "",
        *(
            f"metric       {metric.name:28} {metric.aggregate:6} {metric.file}:{metric.line}"
            for metric in experiment.metrics
        ),
        *(f"evaluation   {step.name:28} {_step(step)}" for step in experiment.evaluations),
        *(f"note         {note}" for note in experiment.notes),
        "",
        *(_run_line(run, states) for run in runs),
        *_proof(folder, runs),
    ]


def _step(step: Step) -> str:
    return f"{typed_line(step.command)}{f'  {step.repeat} times' if step.repeat > 1 else ''}"


def _states(folder: ExperimentFolder) -> dict[str, State]:
    """Return whether runs go on, are evaluated, or were interrupted."""
    from deviate.facts.live import LiveReader

    return {run.name: run.state for run in LiveReader(folder).read().runs}


def _proof(folder: ExperimentFolder, runs: list[RunFiles]) -> list[str]:
    """Say what was identical in each variant and what varied, and which promise was broken."""
    from deviate.facts.proof import read_proofs
    from deviate.report.topics.proof import broken_promises, evidence_sentences, identity_statement
    from deviate.report.topics.varied import absences, gloss
    from deviate.report.words import disturbed

    lines = []
    for proof in read_proofs(folder, runs):
        statement = identity_statement(proof)
        proven = [*([statement] if statement else []), *evidence_sentences(proof), *absences(proof)]
        broken = [caveat.message for caveat in broken_promises(proof)] if proof.completed > 1 else []
        if proven or broken:
            lines += ["", f"variant      {proof.variant}: {gloss(proof.variant)}"]
            lines += [f"  {text}" for text in proven]
            lines += [f"  ! {text}" for text in broken]
        lines += [f"  {run.name} ran {how}" for run in proof.runs if (how := disturbed(run))]
    return lines


#: Reasons nobody wonders about.
_DULL = frozenset({"cache", "version control", "workspace of Deviate"})


def _run_line(run: RunFiles, states: Mapping[str, State]) -> str:
    from deviate.cli.printing import show_duration
    from deviate.observe.events import threads as threads_of
    from deviate.report.words import count
    from deviate.store.run_files import Unfinished

    outcome, info, known = run.outcome, run.info, threads_of(run)
    if outcome is None:
        return f"run          {run.name:16} {states.get(run.name, 'under way')}"
    threads = count(known, "thread") if known else "threads as the program has them"
    seed = "derived seeds" if info and info.seeds is not None else "its own seeds"
    reason = f"  {outcome.reason}" if isinstance(outcome, Unfinished) else ""
    took = show_duration(outcome.seconds or 0.0)
    status = "evaluating" if states.get(run.name) == "evaluating" else outcome.status
    return f"run          {run.name:16} {status:12} {took:>9}  {seed}, {threads}{reason}"
