"""The command line that starts a run in a container.

Inside, the run finds its copy of the project, its records, the runtime and its data under the same paths as outside. It
is the same user on the same network. It sees the same GPUs, and the same variables but for those of this machine's
system. The image gives programs and libraries.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from deviate.replicate.containers.image import Container
from deviate.replicate.environment.command import INJECTED

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

    Examples
    --------
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

    Examples
    --------
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
