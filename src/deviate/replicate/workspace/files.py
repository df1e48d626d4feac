"""Whole files, written so that a reader never sees half of one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from deviate.errors import WorkspaceUnusable
from deviate.experiment import SCHEMA


class _Versioned(msgspec.Struct):
    schema: int = 0


def write_whole(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write `data` aside and rename it onto `path`.

    The folder of `path` exists. `durable` waits until the disk has the data, so that not even a power cut takes it
    back.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with aside.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    aside.replace(path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in `folder`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Wait until the disk has the content of `path`."""
    sync_folder(path)


def write_json(path: Path, value: Any, *, durable: bool = False) -> None:
    """Write `value` as indented JSON, aside and renamed."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n", durable=durable)


def read_json(path: Path, kind: Any) -> Any:
    """Read what `write_json` wrote, as the type `kind`.

    Raises
    ------
    WorkspaceUnusable
        If the file was made by a newer Deviate or is not what it should be.
    """
    data = path.read_bytes()
    try:
        if msgspec.json.decode(data, type=_Versioned).schema > SCHEMA:
            raise WorkspaceUnusable(
                f"{path} was made by a newer Deviate",
                hint="update Deviate: pip install --upgrade deviate-dl",
            )
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise WorkspaceUnusable(f"{path} cannot be read: {error}", hint="move the file away, or restore it") from error
