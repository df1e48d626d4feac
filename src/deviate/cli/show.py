"""``deviate show``: an experiment, its metrics and how each of its runs went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.options import experiment_names, only_experiment
from deviate.cli.printing import examples, folded, say, say_json, show_duration, show_range, verbose_option
from deviate.core.factors import SEEDED, find_variant, plain_name
from deviate.core.shell_words import typed_line

#: The variant in which nothing varies: its name says enough beside another one.
CONTROL = "control"

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deviate.core.experiment import Metric, Step
    from deviate.facts.live import State
    from deviate.facts.proof import VariantProof
    from deviate.observe.records import RunFiles
    from deviate.store.folders import ExperimentFolder


@click.command("show", epilog=examples("deviate show base", "deviate show base -v", "deviate show base --json"))
@click.argument("name", required=False, shell_complete=experiment_names)
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str | None, verbose: bool, as_json: bool) -> None:
    """Show how an experiment was made and how its runs ended.

    NAME may be left out where there is one experiment. -v lists every run, and what fingerprints show of each variant.
    """
    from deviate.store.folders import Workspace

    folder = Workspace.nearest(Path.cwd()).find_experiment(name or only_experiment("show"))
    if as_json:
        say_json(json.dumps(facts(folder), indent=1))
    else:
        say(*(_full(folder) if verbose else _lines(folder)))


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


def _full(folder: ExperimentFolder) -> list[str]:
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


def _lines(folder: ExperimentFolder) -> list[str]:
    from deviate.facts.proof import read_proofs
    from deviate.report.topics.proof import broken_promises

    experiment = folder.read_experiment()
    if experiment.imported is not None:
        from deviate.cli.import_ import shown_lines

        return shown_lines(folder)
    runs = _read_runs(folder)
    proofs = read_proofs(folder, runs)
    loop = experiment.main_loop
    broken = [caveat.message for proof in proofs if proof.completed > 1 for caveat in broken_promises(proof)]
    return [
        *folded(
            [
                (experiment.name, typed_line(experiment.command)),
                ("made", f"{experiment.created[:16].replace('T', ' ')}, seed {experiment.seed}"),
                ("loop", f"{loop.file}:{loop.line}" if loop else "none found"),
                *_headed("metrics", _metric_places(experiment.metrics)),
                *_headed("then", [f"{step.name}: {_step(step)}" for step in experiment.evaluations]),
                *_headed("note", experiment.notes),
                *(_varied(proofs[0]) if len(proofs) == 1 else []),
            ]
        ),
        "",
        *folded([(_indented(proof.variant, proofs), _runs_text(proof, runs)) for proof in proofs]),
        *_unfinished(folder, runs, alone=len(proofs) == 1),
        *(f"! {text}" for text in broken),
    ]


def _indented(variant: str, proofs: Sequence[VariantProof]) -> str:
    """Name what varied; a source that is a part of another variant stands below that."""
    known = find_variant(variant)
    alone = known is not None and len(known.varying) == 1 and len(proofs) > 1
    return f"{'  ' if alone else ''}{plain_name(variant)}"


def _headed(head: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(head if not at else "", text) for at, text in enumerate(texts)]


def _metric_places(metrics: Sequence[Metric]) -> list[str]:
    """Name the metrics by the line that reports them, with what is taken of the values of a run."""
    places: dict[str, dict[str, list[str]]] = {}
    for metric in metrics:
        if metric.selected:
            places.setdefault(f"{metric.file}:{metric.line}", {}).setdefault(metric.aggregate, []).append(metric.name)
    return [
        f"{place}  " + "; ".join(f"{aggregate} of {', '.join(names)}" for aggregate, names in by_aggregate.items())
        for place, by_aggregate in places.items()
    ]


def _varied(proof: VariantProof) -> list[tuple[str, str]]:
    drawn = [each for each in proof.evidence if each.name in SEEDED]
    varied = [plain_name(each.name) for each in drawn if each.found in ("varied", "partly")]
    fixed = [plain_name(each.name) for each in drawn if each.found == "identical"]
    named = [("varied", varied), ("fixed", fixed)]
    return [(head, ", ".join(names)) for head, names in named if names]


def _runs_text(proof: VariantProof, files: Sequence[RunFiles]) -> str:
    """Count the runs of a variant, those that another variant's training serves too, and say how long they took."""
    from deviate.report.words import count

    runs = [run for run in files if run.name.rpartition("-")[0] == proof.variant]
    done = [run for run in runs if run.completed]
    number = count(proof.planned, "run") if len(done) == proof.planned else f"{len(done)} of {proof.planned} runs"
    by_other: dict[str, list[str]] = {}
    for run in done:
        if run.info and run.info.same_as:
            variant, _, index = run.info.same_as.rpartition("-")
            by_other.setdefault(variant, []).append(index)
    shared = [
        f"{_runs(indices)} shared with {other if other == CONTROL else plain_name(other)}"
        for other, indices in by_other.items()
    ]
    took = [run.outcome.seconds for run in done if run.outcome and run.outcome.seconds and not _is_shared(run)]
    times = [show_range(min(took), max(took))] if took else []
    return ", ".join([f"{number} ({'; '.join(shared)})" if shared else number, *times])


def _runs(indices: Sequence[str]) -> str:
    """Name runs by their numbers.

    >>> _runs(["0"]), _runs(["0", "1", "2"]), _runs(["0", "2"])
    ('run 0', 'runs 0 to 2', 'runs 0 and 2')
    """
    from deviate.report.words import joined

    numbers = list(map(int, indices))
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"runs {numbers[0]} to {numbers[-1]}"
    return f"{'run' if len(numbers) == 1 else 'runs'} {joined(indices)}"


def _is_shared(run: RunFiles) -> bool:
    return bool(run.info and run.info.same_as)


def _unfinished(folder: ExperimentFolder, runs: Sequence[RunFiles], *, alone: bool) -> list[str]:
    from deviate.report.words import ended_as, run_name
    from deviate.store.run_files import Unfinished

    open_runs = [run for run in runs if run.outcome is None or run.folder.worker.is_dir()]
    states = _states(folder) if open_runs else {}
    lines = []
    for run in runs:
        name = run_name(run.folder.run, alone=alone)
        if isinstance(run.outcome, Unfinished):
            after = f" after {show_duration(run.outcome.seconds)}" if run.outcome.seconds else ""
            lines.append(f"{name}: {ended_as(run.outcome.status)}{after}: {run.outcome.reason}")
        elif run.outcome is None or states.get(run.name) == "evaluating":
            lines.append(f"{name}: {states.get(run.name, 'under way')}")
    return lines


def _step(step: Step) -> str:
    return f"{typed_line(step.command)}{f'  {step.repeat} times' if step.repeat > 1 else ''}"


def _states(folder: ExperimentFolder) -> dict[str, State]:
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
