"""What is known of a request before anything is written: its target, what its source shows, and its snapshot."""

from __future__ import annotations

import ast
import functools
import os
import platform
import re
from datetime import datetime
from pathlib import Path

import msgspec

from deviate.analyse.findings import Findings
from deviate.errors import EntryNotFound, EntrySyntax, NoScript
from deviate.experiment import DEFAULT_PREDICTIONS, DEFAULT_WEIGHTS, Decided, Experiment, ObservedWish, Until
from deviate.project.config import read_config
from deviate.project.import_path import file_digests
from deviate.project.selection import extract_starts
from deviate.project.target import Target, find_target, unscripted_target
from deviate.replicate.environment.command import find_program, named_program
from deviate.replicate.environment.masking import mask_words
from deviate.replicate.snapshot.manifest import Snapshot, describe
from deviate.replicate.snapshot.rules import SnapshotRules
from deviate.replicate.workspace.files import content_digest
from deviate.replicate.workspace.folders import Workspace
from deviate.study.request import Request, option_words
from deviate.study.steps import ReadStep, asked_steps, read_steps

#: Variables of the user's that decide which code runs.
DECISIVE = ("PYTHONPATH",)


#: What a user has to know of a command whose source was not read.
PYTHON_CONTROLLED = (
    "Draws of its Python processes are controlled; those of other programs vary as they do by themselves."
)
UNCONTROLLED = "Its runs are made as they are, and vary as they do by themselves; --vary controls Python processes."


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a request before anything is written."""

    target: Target
    #: What the first word of the command stands for.
    program: Path
    findings: Findings
    #: What a snapshot of the project would hold.
    snapshot: Snapshot
    #: See `Experiment`.
    options: list[str] = []
    variables: dict[str, str] = {}
    notes: list[str] = []
    #: False where it starts no Python that is known, so that runs are made as they are unless the user says otherwise.
    controlled: bool = True
    predictions: str = DEFAULT_PREDICTIONS
    weights: str = DEFAULT_WEIGHTS
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: What runs read from standard input.
    stdin: Path | None = None
    #: See `Experiment`.
    observed: list[ObservedWish] = []
    #: Commands beside the training.
    steps: list[ReadStep] = []

    @property
    def evaluated(self) -> list[str]:
        """Names of the metrics of its evaluations, as far as their source shows them."""
        return [each.step.prefix + metric.name for each in self.steps for metric in each.step.metrics]

    def experiment(
        self,
        name: str,
        planned: dict[str, int],
        created: datetime,
        seed: int,
        rule: Until | Decided | None = None,
    ) -> Experiment:
        """Return the experiment that runs of the command make, with the metrics that are selected."""
        target, findings = self.target, self.findings
        return Experiment(
            name=name,
            command=mask_words(target.command),
            folder=target.folder,
            entry=target.entry,
            metrics=[metric for metric in findings.metrics if metric.selected],
            main_loop=findings.main_loop,
            draws=findings.draws,
            comparisons=findings.comparisons,
            predictions=self.predictions,
            weights=self.weights,
            outside=file_digests(findings.outside),
            source=self.snapshot.source,
            seed=seed,
            planned=planned,
            created=created.isoformat(timespec="seconds"),
            until=rule if isinstance(rule, Until) else None,
            decided=rule if isinstance(rule, Decided) else None,
            observed=self.observed,
            options=self.options,
            notes=self.notes,
            variables=self.variables,
            steps=[each.step for each in self.steps if not each.step.is_evaluation],
            scripts=findings.scripts,
            stdin=content_digest(self.stdin) if self.stdin is not None else "",
        )


def with_steps(prepared: Prepared, request: Request) -> Prepared:
    """Return what is known of a request with the commands beside the training, read from their source.

    Raises
    ------
    BadInput
        If one of them is not as it must be.
    """
    target, training = prepared.target, prepared.findings.files
    asked = asked_steps(request.then, target.project, request.evaluate, request.environment)
    steps = read_steps(asked, target.project, target.folder, training)
    beside = sorted({file for each in steps for file in each.step.own})
    snapshot = msgspec.structs.replace(prepared.snapshot, beside=beside)
    return msgspec.structs.replace(prepared, steps=steps, snapshot=snapshot)


def prepare_request(request: Request, *, scripted: bool = True) -> Prepared:
    """Find what a request is about and refuse what cannot be run.

    Unless it must be `scripted`, the command may be any. Nothing is written.

    Raises
    ------
    BadInput
        If the command, the entry, the configuration or the workspace is not as it must be.
    """
    notes: list[str] = []
    controlled = True
    try:
        target = find_requested(request)
    except NoScript as unread:
        if scripted:
            raise
        target = unscripted_target(request.command, request.here or Path.cwd(), request.project)
        controlled = unread.starts_python
        notes = [
            f"No source was read ({unread.message}): metrics are seen in the output alone. "
            f"{PYTHON_CONTROLLED if controlled else UNCONTROLLED}"
        ]
    cwd = target.project / target.folder
    find = named_program if request.container else functools.partial(find_program, environment=os.environ)
    program = find(target.command[0], cwd)
    findings = (
        extract_starts(target.project, target.starts, request.factor, cwd)
        if target.entry
        else Findings(entry="", main_loop=None, metrics=[])
    )
    Workspace(target.project).check_usable()
    rules = snapshot_rules(request, target.project)
    if target.entry:
        target = msgspec.structs.replace(target, entry=findings.entry)  # of several scripts, the one that trains
    sources = [*(start.entry for start in target.starts), *findings.files]
    snapshot = describe(target.project, rules, folder=target.folder, words=target.command, sources=sources)
    _require_in_runs(target.entry, findings, snapshot)
    return Prepared(
        target=target,
        program=program,
        findings=findings,
        snapshot=snapshot,
        options=option_words(request),
        variables={name: os.environ[name] for name in DECISIVE if os.environ.get(name)},
        notes=notes,
        controlled=controlled,
        predictions=request.predictions,
        weights=request.weights,
        accept_status=accepted_statuses(request, target.project),
        stdin=request.stdin,
        observed=read_config(target.project).observed,
    )


def accepted_statuses(request: Request, project: Path) -> tuple[int, ...]:
    """Return the exit statuses with which a training has ended well, beside 0."""
    return tuple(sorted({*request.accept_status, *read_config(project).accept_status} - {0}))


def _require_in_runs(entry: str, findings: Findings, snapshot: Snapshot) -> None:
    """Refuse to leave out what is instrumented: no run could start.

    Raises
    ------
    EntryNotFound
        With the file, and why it is left out.
    """
    recorded = {metric.file for metric in findings.metrics if metric.selected} | {draw.file for draw in findings.draws}
    needed = {entry, *recorded, *([findings.main_loop.file] if findings.main_loop else [])}
    for item in snapshot.left_out:
        missing = sorted(file for file in needed if file == item.path or file.startswith(f"{item.path}/"))
        if missing and not any(held.path == missing[0] for held in snapshot.items if held.kind != "left out"):
            raise EntryNotFound(
                f"{missing[0]} is {'the entry' if missing[0] == entry else 'imported and instrumented'}, and it would "
                f"be left out of the runs: {item.reason}",
                hint=f"leave --exclude away, or type --include {missing[0]}",
            )


def find_requested(request: Request) -> Target:
    """Find the project and an entry that can run; one in ``deviate.toml`` helps where the command shows none.

    Raises
    ------
    EntryNotFound, EntryNotPython, EntrySyntax
        If there is none, or it is written in a Python that Deviate cannot instrument.
    """
    target = _find(request)
    for start in target.starts:
        _refuse_old_syntax(target.project, start.entry)
    return target


def _find(request: Request) -> Target:
    here = (request.here or Path.cwd()).resolve()
    try:
        return find_target(request.command, here, request.entry, request.project)
    except EntryNotFound:
        entry = read_config(request.project or here).entry
        if request.entry or entry is None:
            raise
        return find_target(request.command, here, entry, request.project)


def _refuse_old_syntax(project: Path, entry: str) -> None:
    """Refuse an entry that is read only when masked (see `deviate.analyse.source.files`): it could not be run."""
    try:
        ast.parse((project / entry).read_bytes())
    except (RecursionError, MemoryError) as problem:
        raise EntrySyntax(
            f"{entry}: an expression in it is nested too deeply for Python {platform.python_version()}",
            hint="divide it into several lines with names of their own",
        ) from problem
    except SyntaxError as problem:
        text = (problem.text or "").strip()
        raise EntrySyntax(
            f"{entry}:{problem.lineno}: Python {platform.python_version()} does not parse this ({problem.msg}): {text}",
            hint="cuda(async=True) is cuda(non_blocking=True) since Python 3.7"
            if re.search(r"\basync\s*=", text)
            else "correct the line; if it is newer syntax, install Deviate with the Python that trains",
        ) from problem


def snapshot_rules(request: Request, project: Path) -> SnapshotRules:
    """Join the patterns of the command line with those of ``deviate.toml``."""
    configured = read_config(project).snapshot
    return SnapshotRules(
        include=(*configured.include, *request.include),
        exclude=(*configured.exclude, *request.exclude),
        link=(*configured.link, *request.link),
    )
