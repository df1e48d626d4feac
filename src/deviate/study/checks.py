"""What can be refused of a request before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from deviate.errors import BadOption
from deviate.factors import parse_variants
from deviate.project.config import read_config
from deviate.replicate.checkpoints import CAPTURED as WEIGHT_KINDS
from deviate.replicate.checkpoints import SUFFIXES as WEIGHT_SUFFIXES
from deviate.replicate.containers.image import ContainerWish, check_wish
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR, ENGINES, EXPORTED, check_executor
from deviate.replicate.predictions import CAPTURED, SUFFIXES, is_file
from deviate.study.request import Request

#: Runs of a variant, each with a folder of its own, and runs side by side, at most: more is a slip of the finger.
MOST_RUNS = 100_000
MOST_JOBS = 4096

#: The highest exit status.
MOST_STATUS = 255


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
            hint="type it after --, such as deviate run -- python train.py; or list [[experiment]] in deviate.toml",
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
    if wrong := [status for status in request.accept_status if not 0 <= status <= MOST_STATUS]:
        raise BadOption(
            f"--accept-status must list numbers from 0 to {MOST_STATUS}, found {wrong[0]}",
            hint="type --accept-status 0,1",
        )
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
