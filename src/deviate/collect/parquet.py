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
from deviate.replicate.workspace.folders import RunFolder

#: Raised when the columns change: files of another version are remade.
VERSION = "1"

#: Under this key the file says what it was made from.
KEY = b"deviate"


def run_parquet(folder: RunFolder, metrics: Sequence[str], spare: Path) -> Path:
    """Return the run's Parquet file, made now where it is missing or was made from other files.

    The run has ended. `metrics` are the names of the experiment's metrics: the position is the id. `spare` is the
    folder to write to where this reader may not write into the run's.
    """
    stamp = _stamp(folder, metrics)
    if _is_current(folder.parquet_file, stamp):
        return folder.parquet_file
    in_place = os.access(folder.path, os.W_OK | os.X_OK)
    target = folder.parquet_file if in_place else spare / f"{folder.run.folder}.parquet"
    _write(run_table(folder, metrics).replace_schema_metadata({KEY: stamp}), target)
    return target


def _write(table: pa.Table, target: Path) -> None:
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    pq.write_table(table, aside, compression="zstd")
    aside.replace(target)


def _stamp(folder: RunFolder, metrics: Sequence[str]) -> bytes:
    """Digest what the table is made from: names of metrics, and size and time of every file."""
    files = [(path.name, path.stat()) for path in (*folder.record_files(), *folder.event_files())]
    parts = [VERSION, list(metrics), [(name, stat.st_size, stat.st_mtime_ns) for name, stat in files]]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest().encode()


def _is_current(path: Path, stamp: bytes) -> bool:
    if not path.is_file():
        return False
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, ValueError):
        # Half a file of an older tool, or another format: it is derived, so it is made again.
        return False
    return metadata.get(KEY) == stamp
