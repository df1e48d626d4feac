"""In which environment variables runs of an experiment differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from deviate.core.paths import TEXT_SUFFIXES
from deviate.core.variables import numerical_variables
from deviate.observe.records import RunFiles
from deviate.observe.surroundings import ChangedInput
from deviate.store.folders import ExperimentFolder

# The environment that runs inherit from whoever types the command, so that runs with another one can be told apart.
#
# Values may be secrets: a short checksum of each is kept, with which two can be compared and none can be found out.

#: Digits of a checksum: too few to look for the value that it was made of.
DIGITS = 4

#: Of the shell, the terminal, the desktop and the scheduler: they differ whenever a command is typed.
_SHELL = (
    r"_|PWD|OLDPWD|SHLVL|PATH|PS[1-4]|PROMPT.*|COLUMNS|LINES|TERM.*|COLORTERM|VTE_.*|WINDOWID|TMUX.*|STY|WT_.*|KITTY.*"
    r"|ITERM.*|LC_TERMINAL.*|LS_COLORS|LSCOLORS|LESS.*|PAGER|EDITOR|VISUAL|HIST.*|MAIL|HOSTNAME|SSH_.*|GPG_.*|KRB5CCNAME"
)
_DESKTOP = (
    r"XDG_(SESSION|RUNTIME|SEAT|VTNR|CURRENT|MENU|DATA|CONFIG_DIRS).*|DBUS_.*|DISPLAY|WAYLAND.*|XAUTHORITY|ICEAUTHORITY"
    r"|SESSION_.*|DESKTOP_.*|GNOME_.*|KDE_.*|GTK_.*|QT_.*|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_.*|XPC_.*"
    r"|SECURITYSESSIONID|VSCODE_.*|GIT_.*|VIRTUAL_ENV.*|CONDA_.*|_CE_.*"
)
_SCHEDULERS = (
    r"SLURM_.*|SBATCH_.*|SRUN_.*|PBS_.*|LSB_.*|SGE_.*|JOB_.*|RAY_.*|SKYPILOT_.*|KUBERNETES_.*|GITHUB_.*|RUNNER_.*"
    r"|CI_.*|BUILD_.*|DEVIATE_.*|PYTHONPATH|PYTEST_.*|COV_.*"
)
_NOISE = re.compile("|".join((_SHELL, _DESKTOP, _SCHEDULERS)))


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return a checksum of each variable that says something of a run, by name.

    Those that numerical libraries read are recorded with their values elsewhere.
    """
    numerical = numerical_variables(environment)
    return {
        name: hashlib.sha256(f"{name}={value}".encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]
        for name, value in sorted(environment.items())
        if name not in numerical and not _NOISE.fullmatch(name)
    }


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of the variables in which two environments differ."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def named_in(texts: Collection[str], names: Collection[str]) -> list[str]:
    """Return those of `names` that stand in one of the texts as a word."""
    if not names:
        return []
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, sorted(names)))})(?!\w)")
    return sorted({match for text in texts for match in pattern.findall(text)})


class ChangedVariable(ChangedInput, frozen=True, kw_only=True):
    """An environment variable that was not the same for all runs; `path` is its name."""

    #: The project's source or its command names it, so that it may decide.
    named: bool


def changed_variables(folder: ExperimentFolder, runs: Iterable[RunFiles]) -> list[ChangedVariable]:
    """Return the variables in which runs of an experiment differ; runs that did not note theirs say nothing."""
    known = {run.name: run.info.inherited or {} for run in runs if run.info is not None and run.info.inherited}
    reference = next(iter(known.values()), {})
    names = sorted({name for each in known.values() for name in differing(reference, each)})
    named = names_in_project(folder, names)
    changed = []
    for name in names:
        groups: dict[str | None, list[str]] = {}
        for run, values in known.items():
            groups.setdefault(values.get(name), []).append(run)
        changed.append(ChangedVariable(path=name, groups=list(groups.values()), named=name in named))
    return changed


def names_in_project(folder: ExperimentFolder, names: Sequence[str]) -> list[str]:
    """Return those of `names` that the project's text files or the command name."""
    return named_in([*folder.read_experiment().command, *_texts(folder)], names) if names else []


def _texts(folder: ExperimentFolder) -> Iterator[str]:
    for path in folder.snapshot.rglob("*"):
        with suppress(OSError):
            if path.suffix in TEXT_SUFFIXES and path.is_file():
                yield path.read_text(encoding="utf-8", errors="replace")
