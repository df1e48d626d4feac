"""Keep the file of predictions that each run writes: ``--predictions preds.csv``."""

from __future__ import annotations

import shutil
from pathlib import Path

from deviate.replicate.workspace.folders import PREDICTIONS, RunFolder

#: What is kept of predictions that Deviate captures itself, ``:every``: of every pass; anything else names a file.
CAPTURED = ("none", "labels", "scores", "labels:every", "scores:every")

#: Of files that can be read.
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".npy", ".npz")


def is_file(predictions: str) -> bool:
    """Tell whether predictions are those that the program writes to a file."""
    return predictions not in CAPTURED


def keep_file(predictions: str, cwd: Path, folder: RunFolder) -> list[str]:
    """Copy the file that the run in `cwd` wrote into its folder; return what a reader has to know, if it wrote none."""
    if not is_file(predictions):
        return []
    written = cwd / predictions
    if not written.is_file():
        return [f"It wrote no {predictions}, which --predictions names."]
    shutil.copyfile(written, folder.path / f"{PREDICTIONS}{written.name}")
    return []
