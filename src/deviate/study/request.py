"""What a user asks for with ``deviate run``, checked before anything is written."""

from __future__ import annotations

import ast
import functools
import os
import platform
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path, PurePath

import msgspec

from deviate.analyse.findings import Findings
from deviate.errors import BadOption, EntryNotFound, EntrySyntax, NoScript
from deviate.experiment import (
    DEFAULT_PREDICTIONS,
    DEFAULT_RUNS,
    DEFAULT_WEIGHTS,
    Decided,
    Experiment,
    ObservedWish,
    Until,
)
from deviate.factors import DEFAULT_VARIANT, parse_variants
from deviate.project.config import EvaluateEntry, read_config
from deviate.project.import_path import file_digests
from deviate.project.selection import extract_starts
from deviate.project.target import Target, find_target, unscripted_target
from deviate.replicate.checkpoints import CAPTURED as WEIGHT_KINDS
from deviate.replicate.checkpoints import SUFFIXES as WEIGHT_SUFFIXES
from deviate.replicate.containers.image import ContainerWish, check_wish
from deviate.replicate.environment.command import find_program, named_program
from deviate.replicate.environment.masking import mask_words
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR, ENGINES, EXPORTED, check_executor
from deviate.replicate.predictions import CAPTURED, SUFFIXES, is_file
from deviate.replicate.snapshot.manifest import Snapshot, describe
from deviate.replicate.snapshot.rules import SnapshotRules
from deviate.replicate.workspace.folders import Workspace
from deviate.study.steps import ReadStep, asked_steps, read_steps

#: Runs of a variant, each with a folder of its own, and runs side by side, at most: more is a slip of the finger.
MOST_RUNS = 100_000
MOST_JOBS = 4096


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for with ``deviate run``."""

    command: list[str]
    runs: int = DEFAULT_RUNS
    variants: tuple[str, ...] = (DEFAULT_VARIANT,)
    name: str | None = None
    entry: str | None = None
    project: Path | None = None
    #: Where the user stands; None: where the process does.
    here: Path | None = None
    #: None: as many as the runs there are, or one.
    jobs: int | None = None
    #: GPUs of this machine that runs share: ``all``, how many, or a list as CUDA_VISIBLE_DEVICES has it; None: those
    #: that are visible.
    gpus: str | None = None
    #: Runs that share a GPU; None: one, or as many as `jobs` make it.
    per_gpu: int | None = None
    #: Where runs are started, by its word in `deviate.replicate.executors.registry`; None: see
    #: `deviate.study.placement`.
    executor: str | None = None
    timeout: float | None = None
    #: Seconds after which a run is ended that neither records nor prints anything.
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: Fork runs from a process that has imported their frameworks.
    warm: bool = False
    #: Start no run on a machine that is not like that of the first one.
    same_hardware: bool = False
    #: ``IMAGE`` or ``ENGINE://IMAGE``: what runs are started in; None: as they are.
    container: str | None = None
    #: Go on where failures repeat, and train what would come out equal.
    even_so: bool = False
    #: Share trainings, too, where variants differ in the implementation alone and nothing of it was seen to vary.
    skip_alike: bool = False
    seed: int = 0
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    retry_failed: bool = False
    #: Add runs to the experiment although the project was changed since; they are marked.
    anyway: bool = False
    discard_work: bool = False
    strict: bool = False
    #: ``FILE:LINE=NAME``: factors of draws, above what ``deviate.toml`` says.
    factor: tuple[str, ...] = ()
    #: What is kept of predictions, see `Experiment`.
    predictions: str = DEFAULT_PREDICTIONS
    #: What is kept of weights, see `Experiment`.
    weights: str = DEFAULT_WEIGHTS
    #: ``METRIC ±WIDTH``: go on until it is known so well; ``decided against B``: until it is shown which is better.
    #: `runs` are then those before the first look.
    until: str | None = None
    #: Runs of a variant at most, with `until`.
    most: int | None = None
    #: Commands that are run in the folder of each run after its training.
    then: tuple[str, ...] = ()
    #: Evaluations beside those of ``deviate.toml``, and variables of theirs and of all others.
    evaluate: tuple[EvaluateEntry, ...] = ()
    environment: dict[str, str] = {}
    #: Of a run on a cluster, in the cluster's words; None: as ``deviate.toml`` says.
    partition: str | None = None
    time: str | None = None
    gres: str | None = None
    cpus: int | None = None
    #: Folder of each machine of the cluster in which its runs are made.
    scratch: str | None = None
    #: Of a Ray cluster.
    address: str | None = None
    #: Say what would be submitted, and submit nothing.
    print_script: bool = False

    @property
    def trains(self) -> bool:
        """Whether a command is given; without one, the runs of a named experiment are evaluated."""
        return bool(self.command) or self.name is None


def check_request(request: Request) -> None:
    """Refuse numbers that make no sense, before anything is read.

    Raises
    ------
    BadOption
        Naming the option, what it must be and what it is.
    """
    if not request.command and request.trains:
        raise BadOption(
            "no command to train with",
            hint="type it after --: deviate run -n 8 -- python train.py; or list [[experiment]] in deviate.toml",
        )
    if request.runs < 1:
        raise BadOption(f"-n must be at least 1, found {request.runs}", hint="type -n 10 for a first look")
    if request.runs > MOST_RUNS:
        raise BadOption(f"-n must be at most {MOST_RUNS:,}, found {request.runs:,}", hint="type -n 30, then more")
    if request.jobs is not None and request.jobs > MOST_JOBS:
        raise BadOption(f"--jobs must be at most {MOST_JOBS:,}, found {request.jobs:,}", hint="type -j 4")
    if request.most is not None and request.most > MOST_RUNS:
        raise BadOption(f"--max must be at most {MOST_RUNS:,}, found {request.most:,}", hint="leave it out")
    if request.jobs is not None and request.jobs < 1:
        raise BadOption(f"--jobs must be at least 1, found {request.jobs}", hint="type -j 1 for one run after another")
    check_executor(request.executor or DEFAULT_EXECUTOR)
    check_cluster(request)
    check_local(request)
    if request.container is not None and request.warm:
        raise BadOption("--warm forks runs on this machine, not in a container", hint="leave --warm or --container out")
    limits = (
        ("timeout", request.timeout, "seconds"),
        ("stall", request.stall, "seconds"),
        ("memory", request.memory, "GiB"),
    )
    for name, value, unit in limits:
        if value is not None and not value > 0:
            raise BadOption(f"--{name} must be above 0 {unit}, found {value:g}", hint="leave it out for none")
    parse_variants(request.variants)
    _check_predictions(request.predictions)
    _check_weights(request.weights)


def check_local(request: Request) -> None:
    """Refuse options of this machine for runs elsewhere, and a GPU without a run."""
    here = {"--warm": request.warm, "--gpus": request.gpus is not None, "--per-gpu": request.per_gpu is not None}
    named = next((name for name, given in here.items() if given), None)
    if named is not None and request.executor in ENGINES:
        raise BadOption(f"{named} is for runs on this machine", hint="leave it out, or type --executor local")
    if request.per_gpu is not None and not 1 <= request.per_gpu <= MOST_JOBS:
        raise BadOption(f"--per-gpu must be from 1 to {MOST_JOBS:,}, found {request.per_gpu}", hint="type --per-gpu 2")


def container_wish(request: Request, project: Path) -> ContainerWish | None:
    """Return what is wanted of containers; None where runs are started in none.

    Raises
    ------
    BadOption
        If it is none that can be.
    """
    # What is printed starts its workers in the image.
    if request.container is None or request.executor in EXPORTED:
        return None
    entry = read_config(project).container
    wish = ContainerWish(
        image=request.container, engine=entry.engine, mount=tuple(entry.mount), options=tuple(entry.options)
    )
    check_wish(wish)
    return wish


def check_cluster(request: Request) -> None:
    """Refuse options of clusters for runs on this machine, and those of one cluster for another."""
    options: dict[str, tuple[object, Sequence[str]]] = {
        "--partition": (request.partition, ["slurm"]),
        "--time": (request.time, ["slurm"]),
        "--address": (request.address, ["ray"]),
        "--scratch": (request.scratch, ENGINES),
        "--gres": (request.gres, ENGINES),
        "--cpus": (request.cpus, ENGINES),
        "--print": (request.print_script or None, ENGINES),
    }
    for named, engines in ((name, engines) for name, (value, engines) in options.items() if value is not None):
        if request.executor not in engines:
            where = "a cluster" if len(engines) > 1 else f"a cluster of {engines[0].capitalize()}"
            words = " or ".join(f"--executor {engine}" for engine in engines)
            raise BadOption(f"{named} is for runs on {where}", hint=f"add {words}, or leave it out")
    if request.scratch and not request.scratch.startswith(("/", "$")):
        raise BadOption(
            f"--scratch must be an absolute path on each machine of the cluster, found {request.scratch!r}",
            hint="type --scratch /scratch, or a variable that jobs have: --scratch '$TMPDIR'",
        )
    if request.executor in EXPORTED:
        _check_export(request)
    if request.cpus is not None and request.cpus < 1:
        raise BadOption(f"--cpus must be at least 1, found {request.cpus}", hint="type --cpus 4")


def _check_export(request: Request) -> None:
    submitted = "kubectl create -f FILE" if request.executor == "kubernetes" else "sky launch FILE"
    if not request.print_script:
        raise BadOption(
            f"--executor {request.executor} prints jobs, and starts none",
            hint=f"add --print > FILE, then type `{submitted}`",
        )
    if request.container is None:
        raise BadOption(
            f"--executor {request.executor} starts workers in an image, and none is named",
            hint="type --container IMAGE; the image has deviate-dl and what the training imports",
        )


def _check_predictions(predictions: str) -> None:
    path = PurePath(predictions)
    if is_file(predictions) and (path.suffix not in SUFFIXES or path.is_absolute() or ".." in path.parts):
        raise BadOption(
            f"--predictions must be {', '.join(CAPTURED)}, or a file that each run writes into its folder with the "
            f"suffix {', '.join(SUFFIXES)}, found {predictions!r}",
            hint="type --predictions labels, or --predictions preds.csv",
        )


def _check_weights(weights: str) -> None:
    path = PurePath(weights)
    known = path.suffix in WEIGHT_SUFFIXES and not path.is_absolute() and ".." not in path.parts
    every = weights.removeprefix("every:")
    counts = every != weights and every.isascii() and every.isdecimal() and int(every) > 0
    if weights not in WEIGHT_KINDS and not (counts or known):
        raise BadOption(
            "--weights must be none, digest, final, every:K with K of at least 1, or match files that each run writes "
            f"into its folder with the suffix {', '.join(WEIGHT_SUFFIXES)}, found {weights!r}",
            hint="type --weights final, --weights every:10, or --weights 'checkpoints/*.pt'",
        )


#: Variables of the user's that decide which code runs.
DECISIVE = ("PYTHONPATH",)


def option_words(request: Request) -> list[str]:
    """Return the options that decide what a run is, as they are typed.

    Examples
    --------
    >>> option_words(Request(command=["sh", "go.sh"], entry="train.py", exclude=("*.ckpt",), jobs=2, strict=True))
    ['--entry', 'train.py', '-j', '2', '--exclude', '*.ckpt', '--strict']
    """
    single = {
        "--entry": request.entry,
        "--project": request.project,
        "-j": request.jobs,
        "--gpus": request.gpus,
        "--per-gpu": request.per_gpu,
        "--container": request.container,
        "--executor": None if request.executor == DEFAULT_EXECUTOR else request.executor,
        "--partition": request.partition,
        "--time": request.time,
        "--gres": request.gres,
        "--cpus": request.cpus,
        "--scratch": request.scratch,
        "--address": request.address,
        **{
            f"--{name}": None if value is None else f"{value:g}"
            for name, value in (("timeout", request.timeout), ("stall", request.stall), ("memory", request.memory))
        },
        "--predictions": None if request.predictions == DEFAULT_PREDICTIONS else request.predictions,
        "--weights": None if request.weights == DEFAULT_WEIGHTS else request.weights,
    }
    several = {
        "--include": request.include,
        "--exclude": request.exclude,
        "--link": request.link,
        "--factor": request.factor,
    }
    words = [word for name, value in single.items() if value is not None for word in (name, str(value))]
    words += [word for name, values in several.items() for value in values for word in (name, value)]
    flags = {
        "--strict": request.strict,
        "--skip-alike": request.skip_alike,
        "--warm": request.warm,
        "--same-hardware": request.same_hardware,
    }
    return [*words, *(name for name, given in flags.items() if given)]


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
        observed=read_config(target.project).observed,
    )


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
