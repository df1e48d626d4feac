"""Runs in containers: the engine and image that are wanted, and the command line that starts a run in one."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec

from deviate.core.errors import BadOption, NoContainer
from deviate.runs.environment import INJECTED

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
    program: str
    #: As the engine is given it.
    image: str
    #: What no other image has: the engine's digest of it, or that of the file; empty where nobody tells.
    identity: str
    mount: tuple[str, ...]
    options: tuple[str, ...]


def check_wish(wish: ContainerWish) -> None:
    """Refuse what can be no image, and an engine that is not known.

    Raises BadOption with the engines there are.
    """
    engine, image = _split(wish)
    if not image or image.startswith("-"):
        raise BadOption(f"container must name an image, found {wish.image!r}", hint="type --set container=python:3.12")
    if engine not in ("", *ENGINES):
        raise BadOption(f"no container engine is named {engine!r}", hint=f"type one of: {', '.join(ENGINES)}")
    relative = next((path for path in wish.mount if not Path(path).is_absolute()), None)
    if relative is not None:
        raise BadOption(
            f"mount under [container] must list absolute paths, found {relative!r}", hint="write mount = ['/data']"
        )


def find_container(wish: ContainerWish, environment: Mapping[str, str], folder: Path) -> Container:
    """Return what runs are started in; an image that the engine lacks is fetched.

    The user stands in `folder`, which paths of image files start in.

    Raises NoContainer if the engine is not on the PATH of `environment`, or it does not get the image.
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
            f"no container engine is on PATH ({', '.join(ENGINES)})", hint="install one, or leave container out"
        )
    others = f"; {found[0]} is: --set container={found[0]}://{image}" if found else ""
    return NoContainer(f"{wanted} is not on PATH", hint=f"install it{others}, or leave container out")


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


# The command line that starts a run in a container.
#
# Inside, the run finds its copy of the project, its records, the runtime and its data under the same paths as outside.
# It is the same user on the same network. It sees the same GPUs, and the same variables but for those of this machine's
# system. The image gives programs and libraries.

#: Variables that say something of this machine's system, which is another one in a container.
_HOST = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SHLVL", "HOSTNAME", "MAIL", "TERM", "TMPDIR", "TMP", "TEMP"),
        *("_", "EDITOR"),
        *("OLDPWD", "DISPLAY", "XAUTHORITY", "LS_COLORS", "PYTHONHOME", "LOADEDMODULES"),
        *("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"),
    }
)
#: How such variables begin.
_HOST_BEGINNINGS = (
    *("LD_", "DYLD_", "VIRTUAL_ENV", "CONDA_", "MAMBA_", "XDG_", "DBUS_", "SSH_", "LMOD_", "MODULE"),
    *("DOCKER_", "CONTAINER_", "CONTAINERS_", "BUILDAH_", "APPTAINER", "SINGULARITY"),
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: How variables begin that apptainer takes into a container without the beginning.
_APPTAINER = "APPTAINERENV_"

#: Where caches go: the folder of the user is not there.
_HOME = "/tmp"


class Inside(NamedTuple):
    """A command as it is to be run in a container."""

    words: Sequence[str]
    #: With variables of the machine's own, which are left out.
    environment: Mapping[str, str]
    cwd: Path
    #: Folders and files that it reads and writes, by their paths.
    mounts: Sequence[str]
    cores: tuple[int, ...] | None
    #: The machine has GPUs, and the command may see some.
    has_gpus: bool
    #: It reads standard input.
    reads: bool = False


class Started(NamedTuple):
    """What the system is to start."""

    argv: list[str]
    environment: dict[str, str]


def container_command(container: Container, inside: Inside) -> Started:
    """Return the command line of the engine and its environment."""
    names = passed(inside.environment)
    if container.engine == "apptainer":
        return _apptainer(container, inside, names)
    return Started(
        [
            *(container.program, "run", "--rm", *(["--interactive"] if inside.reads else [])),
            *(_docker(inside) if container.engine == "docker" else _podman(inside)),
            *("--user", f"{os.getuid()}:{os.getgid()}"),
            *("--network", "host", "--ipc", "host", "--security-opt", "label=disable"),
            *("--workdir", str(inside.cwd)),
            *_mounts(inside, container),
            # By name: values, of secrets too, stand in no list of processes.
            *(word for name in names for word in ("--env", name)),
            *("--env", f"HOME={_HOME}"),
            *container.options,
            # In place of the image's own, which may be a shell or a server.
            *("--entrypoint", inside.words[0]),
            container.identity or container.image,
            *inside.words[1:],
        ],
        dict(inside.environment),
    )


def without_doubles(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command line without what stands in it twice, once for the container."""
    return {name: value for name, value in environment.items() if not name.startswith(_APPTAINER)}


def passed(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that a run in a container has, sorted.

    >>> passed({"PATH": "/bin", "OMP_NUM_THREADS": "1", "CONDA_PREFIX": "/c", "BASH_FUNC_x%%": "", "PYTHONPATH": "a"})
    ['OMP_NUM_THREADS', 'PYTHONPATH']
    """
    named = (name for name in environment if _NAME.fullmatch(name))
    return sorted(name for name in named if name not in _HOST and not name.startswith(_HOST_BEGINNINGS))


def _docker(inside: Inside) -> list[str]:
    # Its containers are started by a service, and so inherit nothing of this process. A first process of a container
    # that sets no handler ignores signals: --init puts one before it.
    cores = ["--cpuset-cpus", ",".join(map(str, inside.cores))] if inside.cores is not None else []
    return ["--init", *cores, *(["--gpus", "all"] if inside.has_gpus else [])]


def _podman(inside: Inside) -> list[str]:
    # Without it the user outside is root inside, and files are another user's.
    keep = ["--userns", "keep-id"] if os.getuid() else []
    return [*keep, *(["--device", "nvidia.com/gpu=all"] if inside.has_gpus else [])]


def _apptainer(container: Container, inside: Inside, names: Sequence[str]) -> Started:
    # It brings the user's own folder along, where packages of another Python may lie.
    variables = {f"{_APPTAINER}{name}": inside.environment[name] for name in names}
    variables[f"{_APPTAINER}PYTHONNOUSERSITE"] = "1"
    return Started(
        [
            *(container.program, "exec", "--cleanenv", *(["--nv"] if inside.has_gpus else [])),
            *("--pwd", str(inside.cwd)),
            *_mounts(inside, container),
            *container.options,
            container.image,
            *inside.words,
        ],
        {**inside.environment, **variables},
    )


def _mounts(inside: Inside, container: Container) -> list[str]:
    mounts = [_mount(str(INJECTED), "readonly" if container.engine != "apptainer" else "ro")]
    mounts += [_mount(path) for path in outermost([*inside.mounts, *container.mount])]
    return [word for mount in mounts for word in ("--mount", mount)]


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that lie below no other one, each once.

    >>> outermost(["/b/c", "/a", "/b", "/a", "/bc"])
    ['/a', '/b', '/bc']
    """
    kept: list[str] = []
    for path in sorted({os.path.normpath(path) for path in paths}, key=lambda path: Path(path).parts):
        if not kept or not Path(path).is_relative_to(kept[-1]):
            kept.append(path)
    return kept


def _mount(path: str, *flags: str) -> str:
    """Return a mount under the same path, in the form that all engines read: a line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(["type=bind", f"source={path}", f"target={path}", *flags])
    return line.getvalue()
