"""Read ``deviate.toml``: what is measured, what a run's folder holds, what clusters are told."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from deviate.core.errors import BadConfig, BadOption
from deviate.core.experiment import (
    DEFAULT_PREDICTIONS,
    DEFAULT_RUNS,
    DEFAULT_WEIGHTS,
    Direction,
    Kind,
    ObservedWish,
)
from deviate.core.factors import DEFAULT_VARIANT, SeededFactor
from deviate.core.paths import settings_text

# What ``deviate.toml`` says of clusters.


class SlurmEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[slurm]`` table, in the words of sbatch."""

    partition: str = ""
    #: How long a run may take, such as ``2:00:00``.
    time: str = ""
    #: Resources of a run, such as ``gpu:1``.
    gres: str = ""
    #: Cores of a run, and threads of its numerical libraries.
    cpus: int = 1
    #: Folder of each machine in which its runs are made; empty: in the experiment's.
    scratch: str = ""
    #: Runs at a time at most; None: as many as the cluster lets.
    width: int | None = None
    #: Further options of sbatch, such as ``--account=NAME``.
    options: list[str] = []


class RayEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[ray]`` table."""

    #: As ``ray.init`` takes it; empty: ``RAY_ADDRESS``, else the cluster that this machine is part of.
    address: str = ""
    #: Resources of a run, such as ``gpu:1``.
    gres: str = ""
    #: Cores of a run, and threads of its numerical libraries.
    cpus: int = 1
    #: Folder of each machine in which its runs are made; empty: in the experiment's.
    scratch: str = ""
    #: Runs at a time at most; None: as many as there is room for.
    width: int | None = None


FILE_NAME = "deviate.toml"

T = TypeVar("T", bound=msgspec.Struct)


class MetricEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One ``[[metric]]`` table."""

    name: str
    file: str
    line: int
    expression: str
    aggregate: str = "last"
    direction: Direction | None = None
    kind: Kind | None = None


class DrawEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[draw]]`` table."""

    file: str
    line: int
    factor: SeededFactor
    #: What is called; tells several draws on a line apart, and finds one whose line has moved.
    call: str = ""


class LoopEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[main_loop]`` table."""

    file: str
    line: int


class SnapshotEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[snapshot]`` table: glob patterns relative to the project."""

    include: list[str] = []
    exclude: list[str] = []
    link: list[str] = []


class EvaluateEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[evaluate]]`` table: a command that is run in the folder of each run after its training."""

    command: str
    #: None: after the script.
    name: str | None = None
    #: How often it is run for each run.
    repeat: int = 1
    threads: int | None = None
    #: ``cpu``, or GPUs as CUDA_VISIBLE_DEVICES has them.
    device: str | None = None
    environment: dict[str, str] = {}
    #: The interpreter in place of the command's first word.
    python: str = ""


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[setup]`` or ``[cleanup]`` table: a command before or after all else in the folder of each run."""

    command: str


class ContainerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[container]`` table: how runs are started in containers, where `RunEntry.container` names an image."""

    #: docker, podman or apptainer; empty: the first one that is there.
    engine: str = ""
    #: Absolute paths that runs see beside the project and its data.
    mount: list[str] = []
    #: Further options of the engine.
    options: list[str] = []


Share = Literal["draws", "none"]


class RunEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[run]`` table: how runs are made, for all experiments of the project; None: not said."""

    #: Seconds a run may take, and those for which it may neither record nor print anything.
    timeout: float | None = None
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: Runs that share a GPU.
    per_gpu: int | None = None
    #: ``IMAGE`` or ``ENGINE://IMAGE``: what runs are started in.
    container: str | None = None
    #: Start no run on a machine whose processor or GPUs are not those of the first one.
    same_hardware: bool | None = None
    #: End a run at an operation without a deterministic form, where the implementation is held fixed.
    strict: bool | None = None
    #: Which runs are trained once for several: those that draw the same (None, too), none, or also those that differ in
    #: the implementation alone, where threads are pinned and no GPU is used.
    share: Share | None = None
    #: Delete the working folder of each completed run.
    discard_work: bool | None = None
    #: Import the training's frameworks once and fork each run from that, where its variant holds the implementation
    #: and the factor `other` fixed.
    warm: bool | None = None


class Settings(RunEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a project and each ``[[experiment]]`` of it may say of runs; what is empty is not said."""

    #: The script that trains, where the command does not show it.
    entry: str | None = None
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: As under ``[snapshot]``.
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    #: ``FILE:LINE=NAME``: factors of draws, above what ``[[draw]]`` says.
    factor: tuple[str, ...] = ()


class TypedSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``--set KEY=VALUE`` takes: those, and what a cluster is asked for, as under ``[slurm]`` and ``[ray]``."""

    partition: str | None = None
    time: str | None = None
    gres: str | None = None
    cpus: int | None = None
    #: Folder of each machine of the cluster in which its runs are made.
    scratch: str | None = None
    address: str | None = None
    #: Go on where the first runs of a variant fail alike.
    even_so: bool = False


#: Of what results are computed with, what is the same for all experiments of a project, and what only a command knows.
#:
#: Each key with its type, its bounds and its line of the help; fields are called as keywords of Python are.
STATISTICS_KEYS = {
    "aggregates": "aggregate",
    "test_sizes": "test_size",
    "directions": "direction",
    "matches": "match",
    "most": "max",
}


def says(text: str, *, gt: float | None = None, ge: float | None = None, lt: float | None = None) -> msgspec.Meta:
    """Return what a key is, for ``--help``, and between which bounds it lies."""
    bounds = {name: bound for name, bound in (("gt", gt), ("ge", ge), ("lt", lt)) if bound is not None}
    meta: msgspec.Meta = msgspec.Meta(description=text, **bounds)  # type: ignore[call-overload]
    return meta


class StatisticsEntry(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=STATISTICS_KEYS, omit_defaults=True
):
    """The ``[statistics]`` table: how results are computed, in all commands that report them; None: not said."""

    aggregates: Annotated[
        dict[str, str], says("METRIC=last, best, mean, max, min, area or 'at ITERATION': the number of a run")
    ] = {}
    main: Annotated[str, says("METRIC that leads every report, else quality before loss, test before validation")] = ""
    weak: Annotated[
        tuple[str, ...], says("'METRIC<NUMBER': leave such runs out; METRIC: those far from the others (MAD)")
    ] = ()
    reach: Annotated[
        tuple[str, ...], says("'METRIC>=NUMBER': iterations and seconds to there; METRIC: to its best")
    ] = ()
    test_sizes: Annotated[
        dict[str, Annotated[int, msgspec.Meta(ge=1)]], says("METRIC=EXAMPLES of the test set, for its share of an SD")
    ] = {}
    alpha: Annotated[float, says("probability of a false alarm, 0.05 if not said", gt=0, lt=1)] | None = None
    correction: (
        Annotated[Literal["holm", "bonferroni", "bh", "none"], says("of several tests: holm, bonferroni, bh or none")]
        | None
    ) = None
    power: Annotated[float, says("probability that a real difference is shown, 0.8", gt=0, lt=1)] | None = None
    inconclusive: Annotated[Literal["pass", "fail"], says("what too few runs do: fail, or pass")] | None = None
    figure_format: Annotated[Literal["pdf", "svg", "png"], says("of --set figures: pdf, svg or png")] | None = None


class TypedStatistics(
    StatisticsEntry, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=STATISTICS_KEYS, omit_defaults=True
):
    """What ``--set KEY=VALUE`` takes of them: those, and what belongs to the experiments of one command."""

    directions: Annotated[
        dict[str, Direction], says("METRIC=higher or METRIC=lower: what is better, remembered for the project")
    ] = {}
    matches: Annotated[dict[str, str], says("A=B: compare metric A of the first with metric B of the others")] = {}
    groups: Annotated[
        tuple[str, ...], says("FILE or COLUMN: groups of the evaluated examples (csv, tsv, jsonl, parquet, npy, npz)")
    ] = ()
    positive: Annotated[str, says("CLASS that counts as positive in groups, the greater of two if not said")] = ""
    inputs: Annotated[str, says("FILE or FOLDER with an input for each evaluated example, for the flip list")] = ""
    curves: Annotated[bool, says("true: draw the median curve of each metric in the terminal, too")] = False
    most: Annotated[int, says("with --until: most runs of each experiment, 30 if not said")] | None = None
    tasks: Annotated[bool, says("true: metrics are tasks on one scale; interquartile mean, improvement")] = False
    seed: Annotated[int, says("of permutations and resamples, 0 if not said", ge=0)] = 0
    max_churn: Annotated[str, says("SHARE of examples that A may label otherwise than B: 5%")] = ""
    max_group_drop: Annotated[str, says("SHARE by which accuracy on each of the groups may be lower: 2%")] = ""
    pairing: (
        Annotated[Literal["auto", "on", "off"], says("on: runs of the same index are pairs; auto: if proved; or off")]
        | None
    ) = None
    tests: Annotated[int, says("tests corrected together: claimed metrics × pairs of experiments", ge=1)] = 1
    correlation: Annotated[float, says("of paired runs, which used the same random numbers", gt=-1, lt=1)] | None = None
    failures: Annotated[float, says("share of runs that fail, that of the pilot if not said", ge=0, lt=1)] | None = None
    seconds: Annotated[float, says("that a run takes, those of the pilot if not said", gt=0)] | None = None
    sd: Annotated[float, says("SD that is assumed, that of the pilot if not said")] | None = None
    sd_ratio: Annotated[float, says("find the runs that show this ratio of two SDs")] | None = None
    precision: Annotated[float, says("find the runs that give a mean this half-width")] | None = None
    rule: Annotated[str, says("of --target: t, sd=NUMBER (known), exact (signs) or modded-nanogpt; or mlperf")] = ""
    figures: Annotated[str, says("FOLDER: write every figure into it, as wide as a column of a paper")] = ""


def said(entry: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the settings of a kind that an entry says."""
    usual = kind()
    values = {name: getattr(entry, name) for name in kind.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


#: What stands for ``{key}`` in the commands of an experiment.
Setting = int | float | str


class ExperimentEntry(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[experiment]]`` table: an experiment, or one for each combination of what its grid lists."""

    name: str
    #: ``{key}`` stands for a value of the grid, here, in `environment`, and in commands of `evaluate`.
    command: str
    grid: dict[str, list[Setting]] = {}
    n: int = DEFAULT_RUNS
    vary: tuple[str, ...] = (DEFAULT_VARIANT,)
    environment: dict[str, str] = {}
    #: The interpreter in place of the command's first word.
    python: str = ""
    evaluate: list[EvaluateEntry] = []
    #: As the options of ``deviate run`` that are called so.
    until: str | None = None
    max: int | None = None
    seed: int = 0
    jobs: int | None = None
    gpus: str | None = None
    predictions: str = DEFAULT_PREDICTIONS
    weights: str = DEFAULT_WEIGHTS


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole ``deviate.toml``; everything in it is optional."""

    entry: str | None = None
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: Where runs are made whose experiment was made nowhere else; None: on this machine.
    executor: Literal["local", "slurm", "ray"] | None = None
    main_loop: LoopEntry | None = None
    #: None where the file lists no metric: then the analysis decides.
    metric: list[MetricEntry] | None = None
    draw: list[DrawEntry] = []
    observed: list[ObservedWish] = []
    #: Which values are better, by metric, in all experiments of the project.
    direction: dict[str, Direction] = {}
    run: RunEntry = RunEntry()
    statistics: StatisticsEntry = StatisticsEntry()
    snapshot: SnapshotEntry = SnapshotEntry()
    evaluate: list[EvaluateEntry] = []
    experiment: list[ExperimentEntry] = []
    setup: CommandEntry | None = None
    cleanup: CommandEntry | None = None
    slurm: SlurmEntry = SlurmEntry()
    ray: RayEntry = RayEntry()
    container: ContainerEntry = ContainerEntry()


#: Tables that may stand several times, and the others.
_LISTED: dict[str, type[msgspec.Struct]] = {
    "metric": MetricEntry,
    "draw": DrawEntry,
    "observed": ObservedWish,
    "evaluate": EvaluateEntry,
    "experiment": ExperimentEntry,
}
_STRUCTS: dict[str, type[Any]] = {
    **_LISTED,
    "main_loop": LoopEntry,
    "run": RunEntry,
    "statistics": StatisticsEntry,
    "snapshot": SnapshotEntry,
    "setup": CommandEntry,
    "cleanup": CommandEntry,
    "experiment.evaluate": EvaluateEntry,
    "slurm": SlurmEntry,
    "ray": RayEntry,
    "container": ContainerEntry,
}


def read_config(project: Path) -> Config:
    """Read the project's ``deviate.toml``; a project without one has the default configuration.

    Raises BadConfig if the file is not TOML, or a key or value is not as it must be; the message has key and line.
    """
    path = project / FILE_NAME
    if not os.path.exists(path):
        return Config()
    try:
        text = settings_text(path)
        tables = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as problem:
        raise BadConfig(f"{path}: {problem}", hint="mend the line, or delete the file to start anew") from problem
    # msgspec does not say which element of a list is wrong, so each is converted by itself, first.
    for key, entry in _LISTED.items():
        listed = tables.get(key, [])
        for index, table in enumerate(listed if isinstance(listed, list) else []):
            _convert(table, entry, path, text, f"{key}[{index}]")
    return _convert(tables, Config, path, text, "")


def file_settings(project: Path | None = None, here: Path | None = None) -> dict[str, Any]:
    """Return what the ``[run]`` table says, by the fields of a request.

    Raises BadConfig if the file is not as it must be.
    """
    return said(read_config(project or here or Path.cwd()).run, RunEntry)


def file_statistics(project: Path, *names: str) -> dict[str, Any]:
    """Return what the ``[statistics]`` table says of some keywords."""
    known = said(read_config(project).statistics, StatisticsEntry)
    return {name: value for name, value in known.items() if name in names}


def read_settings(
    texts: Sequence[str], kind: type[msgspec.Struct] = TypedSettings, keys: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what ``--set KEY=VALUE`` says, by the fields of `kind`; keys of several values may come again.

    Raises BadOption if a text is not KEY=VALUE, or the key, which must be one of `keys`, or its value is none that can
    be.

    >>> read_settings(["stall=60", "exclude=*.ckpt", "exclude=logs/**", "accept_status=0,1"])
    {'stall': 60.0, 'accept_status': (0, 1), 'exclude': ('*.ckpt', 'logs/**')}
    >>> read_settings(["aggregate=test acc=best", "alpha=0.01"], TypedStatistics)
    {'aggregates': {'test acc': 'best'}, 'alpha': 0.01}
    """
    fields, usual = {field.encode_name: field for field in msgspec.structs.fields(kind)}, kind()
    given: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not sign or key not in (keys or fields):
            wanted = f"--set takes no key {key!r} here" if sign else f"--set must be KEY=VALUE, found {text!r}"
            raise BadOption(wanted, hint=nearest(key, keys or fields))
        default = getattr(usual, fields[key].name)
        if isinstance(default, tuple):
            given.setdefault(key, []).extend(value.split(",") if key == "accept_status" else [value])
        elif isinstance(default, dict):
            name, _, what = value.rpartition("=")
            if not name.strip() or not what.strip():
                raise BadOption(f"--set {text!r} is not {key}=NAME=VALUE", hint=_means(key, kind))
            known = given.setdefault(key, {})
            if name.strip() in known:
                raise BadOption(f"--set {key} of {name.strip()!r} is typed twice", hint="leave one")
            known[name.strip()] = what.strip()
        elif key in given:
            raise BadOption(f"--set {key} is typed twice and has one value", hint="leave one")
        else:
            given[key] = value
    try:
        return said(msgspec.convert(given, kind, strict=False), kind)
    except msgspec.ValidationError as problem:
        message, _, place = str(problem).partition(" - at ")
        key = re.split(r"[.\[]", place.strip("`").removeprefix("$").removeprefix("."))[0]
        raise BadOption(f"--set {key}: {message}", hint=_means(key, kind)) from problem


def nearest(key: str, keys: Iterable[str], what: str = "keys") -> str:
    """Return a hint that names the keys there are, and first the one that may be meant."""
    near = difflib.get_close_matches(key, list(keys), n=1)
    return f"{f'did you mean {near[0]}? ' if near else ''}{what}: {', '.join(keys)}"


def _means(key: str, kind: type[msgspec.Struct]) -> str:
    if meaning := settings_help(kind, [key]).get(key):
        return f"type --set {key}=VALUE ({meaning})"
    words = ", ".join(_values(next(each.type for each in msgspec.structs.fields(kind) if each.encode_name == key)))
    return f"type --set {key}=VALUE {f'with one of {words}' if words else 'of that type'}"


def settings_help(kind: type[msgspec.Struct], keys: Sequence[str]) -> dict[str, str]:
    """Return what each of the keys is, for ``--help``."""
    types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    metas = {key: [types[key], *get_args(types[key])] for key in keys if key in types}
    return {
        key: str(meta.description)
        for key, parts in metas.items()
        for part in parts
        for meta in getattr(part, "__metadata__", ())
        if isinstance(meta, msgspec.Meta) and meta.description
    }


def _convert(value: Any, struct: type[T], path: Path, text: str, table: str) -> T:
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError as problem:
        raise _bad_value(path, text, str(problem), table) from problem


def bad_entry(table: str, project: Path, problem: str, hint: str) -> BadConfig:
    """Return the error for an entry such as ``metric[0]``, naming its line in the file."""
    path = project / FILE_NAME
    line = _line_of(settings_text(path), table, "")
    return BadConfig(f"{path}:{line}: {problem}", hint=hint)


def _bad_value(path: Path, text: str, problem: str, table: str) -> BadConfig:
    """Turn msgspec's message (``Expected `int`, got `str` - at `$.line```) into key and line."""
    message, _, path_in_file = problem.partition(" - at ")
    # A key of the user's own is `[...]`; it is not known which.
    steps = path_in_file.strip("`").removeprefix("$").replace("[...]", "\0").split(".")
    parts = [part.partition("\0")[0] for part in steps if part]
    struct, where = _struct_of(table, parts)
    *inner, key = parts or [""]
    table = ".".join([part for part in (table, *inner) if part])
    unknown = re.search(r"unknown field `(\w+)`", message)
    if unknown:
        # What has the unknown field is the table itself.
        table, key = ".".join(part for part in (table, key) if part), unknown.group(1)
    line = _line_of(text, table, key.partition("[")[0])
    name = ".".join(part for part in (table, key) if part)
    # Those of the table itself come before those that it shares with [run].
    fields = {
        field.encode_name: field.type
        for field in sorted(msgspec.structs.fields(struct), key=lambda field: field.name not in struct.__annotations__)
    }
    values = _values(fields.get(key)) if message.startswith("Invalid enum value") else []
    allowed = f"values allowed there: {', '.join(values)}" if values else _allowed(where, fields, key)
    return BadConfig(f"{path}:{line}: {name}: {message}", hint=allowed)


#: What belongs into tables whose keys are the user's own.
_FREE = {
    "grid": "under [experiment.grid] each key lists its values, numbers or texts: lr = [0.1, 0.01]",
    "direction": 'under [direction] each metric has "higher" or "lower": reward = "higher"',
    "environment": 'variables are texts: environment = { MODE = "1" }',
}


def _struct_of(table: str, parts: Sequence[str]) -> tuple[type[Any], str]:
    """Return what the innermost table with known keys is, and the first of the parts that names a table below it."""
    names = [re.sub(r"\[\d*\]", "", part) for part in (*table.split("."), *parts) if part]
    deepest = next((".".join(names[:end]) for end in (2, 1) if ".".join(names[:end]) in _STRUCTS), "")
    below = names[deepest.count(".") + 1 :] if deepest else names
    return _STRUCTS.get(deepest, Config), below[0] if below else ""


def _allowed(where: str, fields: Mapping[str, Any], key: str) -> str:
    return _FREE.get(where) or nearest(key if key not in fields else "", fields, "keys allowed there")


def _values(kind: Any) -> list[str]:
    """Return the words that a type allows, of ``Literal["a", "b"] | None`` a and b."""
    parts = get_args(kind)
    return [word for part in parts for word in ([part] if isinstance(part, str) else _values(part))]


def _line_of(text: str, table: str, key: str) -> int:
    """Return the line (from 1) of `key` in `table` (``metric[1]``, ``experiment[0].grid``, or empty for the top)."""
    lines, start, path = text.splitlines(), 0, ""
    for part in filter(None, table.split(".")):
        name, _, index = part.rstrip("]").partition("[")
        path = f"{path}.{name}".lstrip(".")
        header = re.compile(rf"^\s*\[\[?\s*{re.escape(path)}\s*\]\]?|^\s*{re.escape(name)}\s*=")
        starts = [number for number in range(start, len(lines)) if header.match(lines[number])] or [start]
        start = starts[min(int(index or 0), len(starts) - 1)]
    own = rf"\[\[?\s*{re.escape(f'{path}.{key}')}\s*\]"
    pattern = re.compile(rf"^\s*(\"?{re.escape(key)}\"?\s*=|{own})") if key else None
    for number in range(start, len(lines)):
        if pattern and pattern.match(lines[number]):
            return number + 1
    return start + 1
