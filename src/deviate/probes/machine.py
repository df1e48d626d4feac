"""What of this machine and its settings matters to trainings: ``deviate doctor``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
import psutil

from deviate.core.errors import CommandNotFound, WorkspaceUnusable
from deviate.core.frameworks import FRAMEWORKS, SWITCHES, VARIABLES
from deviate.runs.environment import find_program
from deviate.runs.hardware import installed_gpus, usable_cores
from deviate.store.folders import Workspace

#: Bytes that should be free: below, a run's copy and its checkpoints may not fit.
SPARE_DISK = 5 * 2**30

#: Seconds that a Python may take to list its packages.
PATIENCE = 30.0

#: Prints the version of each installed distribution that provides one of the packages named.
_VERSIONS = """
import json, sys
from importlib.metadata import packages_distributions, version
provided = packages_distributions()
print(json.dumps({name: version(provided[name][0]) for name in json.loads(sys.argv[1]) if name in provided}))
"""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "note", "problem"]
    found: str
    #: What to do about it; empty where nothing needs doing.
    advice: str = ""


def check_machine(here: Path, environment: Mapping[str, str]) -> list[Check]:
    """Look at the Python that trains, its frameworks, the hardware, the settings and the disk; nothing is changed."""
    return [
        *_pythons(here, environment),
        _cores(),
        _memory(),
        _gpus(environment),
        _switches(environment),
        _threads(environment),
        _disk(here),
        _workspace(here),
    ]


def _pythons(here: Path, environment: Mapping[str, str]) -> list[Check]:
    try:
        python = find_program("python", here, environment)
    except CommandNotFound as error:
        return [Check(name="python", state="problem", found=error.message, advice=error.hint)]
    return [Check(name="python", state="ok", found=str(python)), _frameworks(_framework_versions(python))]


def _frameworks(versions: Mapping[str, str] | None) -> Check:
    """`versions` are by package; None where they are not known."""
    if versions:
        found = ", ".join(f"{name} {version}" for name, version in versions.items())
        return Check(name="frameworks", state="ok", found=found)
    if versions is None:
        return Check(
            name="frameworks", state="ok", found="not listed: this python is older than 3.10, or did not start"
        )
    return Check(
        name="frameworks",
        state="note",
        found="none is installed for this python",
        advice="activate the environment that trains, then type `deviate doctor` again",
    )


def _framework_versions(python: Path) -> dict[str, str] | None:
    """Return the versions of the frameworks that `python` can import, by package; None where it does not list them."""
    packages = [name for framework in FRAMEWORKS for name in framework.packages]
    command = [str(python), "-c", _VERSIONS, json.dumps(packages)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return dict(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError):
        return None


def _cores() -> Check:
    cores, load = len(usable_cores()), os.getloadavg()[0]
    found = f"{cores} usable, load {load:.1f}"
    if load <= cores / 2:
        return Check(name="cores", state="ok", found=found)
    return Check(
        name="cores", state="note", found=found, advice="others use this machine: times of runs will not be comparable"
    )


def _memory() -> Check:
    memory = psutil.virtual_memory()
    return Check(name="memory", state="ok", found=f"{_gib(memory.available)} of {_gib(memory.total)} free")


def _gpus(environment: Mapping[str, str]) -> Check:
    gpus = installed_gpus()
    if not gpus:
        return Check(name="GPUs", state="ok", found="no NVIDIA GPU")
    chosen = environment.get("CUDA_VISIBLE_DEVICES")
    visible = "" if chosen is None else f"; CUDA_VISIBLE_DEVICES={chosen}, so runs use no others"
    return Check(name="GPUs", state="ok", found="; ".join(gpus) + visible)


def _switches(environment: Mapping[str, str]) -> Check:
    names = sorted({*SWITCHES, "PYTHONHASHSEED"} & set(environment))
    if not names:
        return Check(name="determinism", state="ok", found="no switch is set; variants without impl set them")
    return Check(
        name="determinism",
        state="note",
        found=", ".join(f"{name}={environment[name]}" for name in names),
        advice="set in your shell, so they hold in `--vary as-is` too; unset them to see the training as others do",
    )


def _threads(environment: Mapping[str, str]) -> Check:
    names = sorted(set(VARIABLES) & set(environment))
    if not names:
        return Check(name="threads", state="ok", found="as libraries choose; with -j cores are divided among runs")
    found = ", ".join(f"{name}={environment[name]}" for name in names)
    return Check(name="threads", state="note", found=found, advice="set in your shell: -j does not change them")


def _disk(here: Path) -> Check:
    free = shutil.disk_usage(here).free
    found = f"{_gib(free)} free in {here}"
    if free >= SPARE_DISK:
        return Check(name="disk", state="ok", found=found)
    return Check(
        name="disk",
        state="note",
        found=found,
        advice="type --set discard_work=true: each run's folder goes when it is done",
    )


def _workspace(here: Path) -> Check:
    workspace = Workspace.nearest(here)
    try:
        workspace.check_usable()
    except WorkspaceUnusable as error:
        return Check(name="workspace", state="problem", found=error.message, advice=error.hint)
    count = len(workspace.names())
    found = f"{workspace.path}, {count} experiment{'s' * (count != 1)}" if count else f"{workspace.path}, not made yet"
    return Check(name="workspace", state="ok", found=found)


def _gib(size: float) -> str:
    return re.sub(r"\.0$", "", f"{size / 2**30:.1f}") + " GiB"
