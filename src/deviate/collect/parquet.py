"""A run's records as a Parquet file: derived from its record files, remade whenever it is missing or out of date."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deviate.collect.columns import run_table
from deviate.replicate.workspace.files import FileSum, file_sum, write_whole
from deviate.replicate.workspace.folders import RunFolder

#: Raised when the columns change: files of another version are remade.
VERSION = "1"


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What a derived file was made from, and what it held then; stands beside it."""

    made_from: str
    content: FileSum


def run_parquet(folder: RunFolder, metrics: Sequence[str], spare: Path) -> Path:
    """Return the run's Parquet file, made now where it is missing or was made from other files.

    The run has ended. `metrics` are the names of the experiment's metrics: the position is the id. `spare` is the
    folder to write to where this reader may not write into the run's.
    """
    stamp = _stamp(folder, metrics)
    if _is_current(folder.parquet_file, stamp):
        return folder.parquet_file
    table = run_table(folder, metrics)
    if not os.access(folder.path, os.W_OK | os.X_OK):
        return _written(table, spare / f"{folder.run.folder}.parquet")
    target = _written(table, folder.parquet_file)
    derived = Derived(made_from=stamp, content=file_sum(target))
    write_whole(_beside(target), msgspec.json.encode(derived))
    return target


def _written(table: pa.Table, target: Path) -> Path:
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    pq.write_table(table, aside, compression="zstd")
    aside.replace(target)
    return target


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _stamp(folder: RunFolder, metrics: Sequence[str]) -> str:
    """Digest what the table is made from: names of metrics, and size and time of every file."""
    files = [(path.name, path.stat()) for path in (*folder.record_files(), *folder.event_files())]
    parts = [VERSION, list(metrics), [(name, stat.st_size, stat.st_mtime_ns) for name, stat in files]]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _is_current(path: Path, stamp: str) -> bool:
    """Tell whether a derived file is there, whole, and made from what there is; if not it is made again."""
    try:
        derived = msgspec.json.decode(_beside(path).read_bytes(), type=Derived)
        return derived.made_from == stamp and file_sum(path) == derived.content
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
