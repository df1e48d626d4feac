"""``--same-hardware``: runs on a machine that is not like that of the first run are refused before they start."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress

import msgspec

from deviate.experiment import SCHEMA
from deviate.replicate.workspace.files import read_json, write_json
from deviate.replicate.workspace.folders import ExperimentFolder
from deviate.replicate.workspace.run_files import Cancelled, Hardware, RunInfo

HINT = "start it on such a machine; without --same-hardware runs are made on any, and reports list what differs"

#: How parts of a machine are called.
_WORDS = {"architecture": "architecture", "cpu": "processor", "gpus": "GPUs"}


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of the first run: ``hardware.json``."""

    schema: int = SCHEMA
    run: str
    host: str
    hardware: Hardware


def hardware_refusal(folder: ExperimentFolder, info: RunInfo) -> Cancelled | None:
    """Return the outcome of a run that is ready to start on another machine than the first one's; None on the same.

    Of runs that are ready on several machines at once, one is the first.
    """
    assert isinstance(info.hardware, Hardware)  # of every run that is made ready
    reference = _reference(folder, info, info.hardware)
    differing = [
        f"{word} {_shown(here)}, not {_shown(there)}"
        for name, word in _WORDS.items()
        if (here := getattr(info.hardware, name)) != (there := getattr(reference.hardware, name))
    ]
    if not differing:
        return None
    first = f"as {reference.run} had on {reference.host}"
    return Cancelled(seconds=0.0, reason=f"not started: {info.host} has {'; '.join(differing)}, {first}", hint=HINT)


def _reference(folder: ExperimentFolder, info: RunInfo, own: Hardware) -> Reference:
    path = folder.hardware_file
    if not path.is_file():
        aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        write_json(aside, _first(folder) or _of(info, own))
        # A link is made by one of several at once.
        with suppress(FileExistsError):
            os.link(aside, path)
        aside.unlink()
    reference: Reference = read_json(path, Reference)
    return reference


def _first(folder: ExperimentFolder) -> Reference | None:
    """Return the machine of the earliest run that was made before the option was given; None where there is none."""
    infos = [info for run in folder.runs() if run.is_done and (info := run.read_info()) is not None]
    known = [(info.started, _of(info, info.hardware)) for info in infos if isinstance(info.hardware, Hardware)]
    return min(known, key=lambda each: each[0])[1] if known else None


def _of(info: RunInfo, hardware: Hardware) -> Reference:
    return Reference(run=f"{info.variant}-{info.index}", host=info.host, hardware=hardware)


def _shown(part: str | list[str]) -> str:
    return part if isinstance(part, str) else ", ".join(part) or "none"
