"""What the user wants of containers, the engine that is there, and the image it has."""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec

from deviate.errors import BadOption, NoContainer

Engine = Literal["docker", "podman", "apptainer"]

#: In the order in which they are looked for.
ENGINES: tuple[Engine, ...] = get_args(Engine)

#: Seconds that an engine may take to say what it has.
PATIENCE = 60.0


class ContainerWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants: an image, and the ``[container]`` table of ``deviate.toml``."""

    #: ``IMAGE`` or ``ENGINE://IMAGE``.
    image: str
    #: Empty: the first one on PATH.
    engine: str = ""
    #: Files and folders that runs see beside the project and its data, read and written in place.
    mount: tuple[str, ...] = ()
    #: Further options of the engine, put before the image.
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Container:
    """What runs are started in on this machine."""

    engine: Engine
    #: Path of the engine's program.
    program: str
    #: As the engine is given it.
    image: str
    #: What no other image has: the engine's digest of it, or that of the file; empty where nobody tells.
    identity: str
    mount: tuple[str, ...]
    options: tuple[str, ...]


def check_wish(wish: ContainerWish) -> None:
    """Refuse what can be no image, and an engine that is not known.

    Raises
    ------
    BadOption
        With the engines there are.
    """
    engine, image = _split(wish)
    if not image or image.startswith("-"):
        raise BadOption(f"--container must name an image, found {wish.image!r}", hint="type --container python:3.12")
    if engine not in ("", *ENGINES):
        raise BadOption(f"no container engine is named {engine!r}", hint=f"engines: {', '.join(ENGINES)}")
    relative = next((path for path in wish.mount if not Path(path).is_absolute()), None)
    if relative is not None:
        raise BadOption(
            f"mount under [container] must list absolute paths, found {relative!r}", hint="write mount = ['/data']"
        )


def find_container(wish: ContainerWish, environment: Mapping[str, str], folder: Path) -> Container:
    """Return what runs are started in; an image that the engine lacks is fetched.

    The user stands in `folder`, which paths of image files start in.

    Raises
    ------
    NoContainer
        If the engine is not on the PATH of `environment`, or it does not get the image.
    """
    check_wish(wish)
    wanted, image = _split(wish)
    path = environment.get("PATH", "")
    found = {name: program for name in ENGINES if (program := shutil.which(name, path=path))}
    engine = next((name for name in ENGINES if name in found and wanted in ("", name)), None)
    if engine is None:
        raise _missing_engine(wanted, image, list(found))
    if engine == "apptainer":
        image, identity = _apptainer_image(image, folder)
    else:
        identity = _image_id(found[engine], image)
    return Container(engine, found[engine], image, identity, wish.mount, wish.options)


def _split(wish: ContainerWish) -> tuple[str, str]:
    """Return engine and image: the first word before ``://`` is the engine's, as in ``apptainer://docker://x``."""
    engine, mark, image = wish.image.partition("://")
    if mark and engine in ENGINES:
        return engine, image
    return wish.engine, wish.image


def _missing_engine(wanted: str, image: str, found: list[Engine]) -> NoContainer:
    if not wanted:
        return NoContainer(
            f"no container engine is on PATH ({', '.join(ENGINES)})", hint="install one, or leave --container out"
        )
    others = f"; {found[0]} is: --container {found[0]}://{image}" if found else ""
    return NoContainer(f"{wanted} is not on PATH", hint=f"install it{others}, or leave --container out")


def _apptainer_image(image: str, folder: Path) -> tuple[str, str]:
    """Return the image as apptainer takes it, and its digest: a file, an address, or a name of Docker's registry."""
    path = folder / Path(image).expanduser()
    if path.is_file():
        return str(path), _digest(path, path.stat().st_mtime_ns)
    if path.is_dir():
        return str(path), ""
    if image.endswith((".sif", ".img")) or image.startswith(("/", ".", "~")):
        raise NoContainer(f"there is no image {path}", hint="build it (apptainer build), or name another one")
    return (image if "://" in image else f"docker://{image}"), ""


@functools.cache
def _digest(path: Path, written: int) -> str:
    """Return the digest of a file that was last written at `written`."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


@functools.cache
def _image_id(program: str, image: str) -> str:
    """Return the engine's own name of an image, which stays with it when the tag moves on."""
    for pulled in (False, True):
        # To fetch an image takes as long as it does.
        if pulled and _ask([program, "pull", image], patience=None).returncode:
            break
        asked = _ask([program, "image", "inspect", "--format", "{{.Id}}", image])
        if not asked.returncode and asked.stdout.strip():
            return asked.stdout.split()[0]
    raise NoContainer(
        f"{Path(program).name} has no image {image!r}, and cannot fetch it",
        hint=f"see why: {Path(program).name} pull {image}",
    )


def _ask(command: list[str], patience: float | None = PATIENCE) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        name = Path(command[0]).name
        raise NoContainer(
            f"{command[0]} does not answer: {problem}", hint=f"see that it works: {name} info"
        ) from problem
