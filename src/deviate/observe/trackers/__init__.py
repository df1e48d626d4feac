"""Files of experiment trackers (TensorBoard, MLflow, wandb), read without the trackers' packages.

What a file is is decided by its content; a reader yields the scalars in it. Which scalars make a run, and what they are
metrics of, is decided by those who read: an import, and the collection of what a run wrote.

Which tracker wrote a file, by its content.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from deviate.observe.trackers.mlflow import META, METRICS, is_database, is_metric_file
from deviate.observe.trackers.tensorboard import HEAD, is_event_file
from deviate.observe.trackers.wandb import MAGIC

#: As their makers spell them; MLflow stores the metrics of a run in a folder, or all runs in a database.
Tracker = Literal["TensorBoard", "MLflow", "MLflow database", "wandb"]

#: Packages that may send what a program reports elsewhere, with what numbers of their files are said to be of; empty
#: where no file of theirs is read.
SENDERS = {
    **{"wandb": "wandb", "mlflow": "MLflow"},
    **dict.fromkeys(("comet_ml", "neptune", "clearml", "aim", "swanlab"), ""),
}

#: Bytes that tell what a file is: the first event of a file is short.
HEAD_BYTES = 4096


def tracker_of(path: Path) -> Tracker | None:
    """Return which tracker wrote the values in a file; None where none did, or it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None
    if head.startswith(MAGIC):
        return "wandb"
    if len(head) > HEAD and is_event_file(head):
        return "TensorBoard"
    if is_database(path, head):
        return "MLflow database"
    return "MLflow" if is_metric_file(path, head) else None


def is_own_folder(folder: Path, names: list[str]) -> bool:
    """Tell whether all other files of a folder are a tracker's own: that of a run of wandb, with a copy of its output.

    `names` are the files directly in it.
    """
    return any(name.endswith(".wandb") and tracker_of(folder / name) == "wandb" for name in names)


def goes_with_metrics(path: Path) -> bool:
    """Tell whether a file says that the folder beside it holds MLflow's metrics."""
    return path.name == META and (path.parent / METRICS).is_dir()
