"""What a snapshot leaves out, and why: rules over names, without touching a file.

A run must start as the first training on a fresh checkout would. What former trainings left behind (checkpoints,
folders of trackers) is therefore left out: a run that resumed from it would measure nothing.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import msgspec

from deviate.core.frameworks import FRAMEWORKS

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr"})

CACHES = frozenset(
    {
        "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".pytype", ".hypothesis", ".import_linter_cache",
        ".tox", ".nox", ".ipynb_checkpoints", "node_modules",
    }
)  # fmt: skip

#: Folders that trackers make, each run another: wandb, MLflow, Lightning, Aim, Neptune, ClearML, Sacred-like ones.
TRACKERS = frozenset({"wandb", "mlruns", "mlartifacts", "lightning_logs", ".aim", ".neptune", ".guild"})

#: Names that people give to folders of results; judged only outside the project, where a link would be shared by runs.
OUTPUTS = re.compile(
    r"(output|out|result|res|log|run|checkpoint|ckpt|save|saved|saved_model|saved_models|exp|experiment|multirun|weight"
    r"|tb|tensorboard|trained_model|artifact)s?"
)

#: Suffixes that hold weights and little else.
_WEIGHTS = tuple(suffix for framework in FRAMEWORKS for suffix in framework.weights)

#: Suffixes that hold weights or data, by the rest of the name.
STATES = frozenset(
    {".h5", ".hdf5", ".pkl", ".pickle", ".npz", ".npy", ".joblib", ".bin", ".msgpack", ".params", ".tar"}
)
_WEIGHT_WORD = re.compile(r"(?<![a-z])(checkpoint|ckpt|weights?|model|best|snapshot|optimi[sz]er)(?![a-z])")

#: A file that says that it is data is an input, whatever its suffix: ``traindata.pt``.
_DATA_WORD = re.compile(r"(?<!\.)data|corpus|vocab|feature|embedding|tokens")

#: TensorFlow writes ``checkpoint``, ``NAME.index`` and ``NAME.data-00000-of-00001``.
_TENSORFLOW = re.compile(
    r"checkpoint|.+\.data-\d{5}-of-\d{5}|.*(ckpt|cp-\d+|checkpoint).*\.(index|meta)|.+\.ckpt-\d+.*"
)

#: Folders that Transformers, accelerate, DeepSpeed, orbax and others write checkpoints into, one each.
_CHECKPOINT_FOLDER = re.compile(r"(checkpoint|ckpt|global_step)[-_]?\d+")
_CHECKPOINTS = re.compile(r"\.?(checkpoint|ckpt|chkpt)s?")

#: Below a folder of these names a weights-like suffix is a data set's or a pretrained model's: an input.
_INPUTS = re.compile(
    r"([a-z]+[-_])?(data|datas|dataset|datasets|processed|raw|corpus|corpora)([-_][a-z]+)?"
    r"|pretrain|pretrained.*|pre_trained.*"
)

#: Left by desktops: files that nobody's training reads.
_JUNK = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


class SnapshotRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants otherwise: glob patterns over paths relative to the project.

    A pattern names a file, a folder with all that is in it, or, without a slash, any file or folder of that name.
    """

    #: Kept although a rule would leave it out.
    include: tuple[str, ...] = ()
    #: Left out although no rule would; wins over `include`.
    exclude: tuple[str, ...] = ()
    #: Linked instead of copied: the runs share it with the project.
    link: tuple[str, ...] = ()


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether one of `patterns` names `path` or a folder above it."""
    return any(_names(pattern.removeprefix("./").rstrip("/"), path) for pattern in patterns)


def _names(pattern: str, path: str) -> bool:
    parts = path.split("/")
    if "/" not in pattern and any(fnmatchcase(part, pattern) for part in parts):
        return True
    # A leading **/ also stands for no folder at all.
    patterns = {pattern, pattern.removeprefix("**/")}
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(fnmatchcase(folder, each) for folder in above for each in patterns)


def may_hold(folder: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether one of `patterns` could name something below `folder`."""
    return any(_fixed_part(pattern).startswith(f"{folder}/") for pattern in patterns)


def _fixed_part(pattern: str) -> str:
    return re.split(r"[*?\[]", pattern.removeprefix("./"), maxsplit=1)[0]


def folder_reason(path: str) -> str | None:
    """Return why the folder at `path`, relative to the project, is left out; None where it is kept."""
    name = PurePosixPath(path).name
    if name in VERSION_CONTROL:
        return "version control"
    if name == ".deviate":
        return "workspace of Deviate"
    if name in CACHES:
        return "cache"
    if name in TRACKERS:
        return "output of former trainings"
    return None


def is_checkpoint_folder(path: str) -> bool:
    """Tell whether a folder's name is one that checkpoints of one step are written into."""
    return _CHECKPOINT_FOLDER.fullmatch(PurePosixPath(path).name.lower()) is not None


def file_reason(path: str) -> str | None:
    """Return why the file at `path` is left out whoever made it; None where it is kept."""
    name = PurePosixPath(path).name
    if name in _JUNK or name.endswith((".pyc", ".pyo")):
        return "cache"
    if name.startswith("events.out.tfevents."):
        return "output of former trainings"
    return None


def is_checkpoint_like(path: str) -> bool:
    """Tell whether a file looks like what a training saved.

    The nearest folder with a telling name decides: below ``checkpoints/`` everything does, below ``data/`` or
    ``pretrained/`` nothing.
    """
    pure = PurePosixPath(path.lower())
    for folder in reversed(pure.parts[:-1]):
        if _CHECKPOINTS.fullmatch(folder) or _CHECKPOINT_FOLDER.fullmatch(folder):
            return pure.name not in (".gitkeep", ".gitignore") and pure.suffix != ".py"
        if _INPUTS.fullmatch(folder):
            return False
    return _looks_saved(pure.name)


def _looks_saved(name: str) -> bool:
    if _DATA_WORD.search(name):
        return False
    if name.endswith(_WEIGHTS) or _TENSORFLOW.fullmatch(name):
        return True
    return PurePosixPath(name).suffix in STATES and _WEIGHT_WORD.search(name.replace("_", "-")) is not None


def is_output_name(name: str) -> bool:
    """Tell whether a folder's name says that it holds results."""
    return name in TRACKERS or OUTPUTS.fullmatch(name.lower()) is not None
