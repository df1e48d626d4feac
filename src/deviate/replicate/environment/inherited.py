"""The environment that runs inherit from whoever types the command, so that runs with another one can be told apart.

Values may be secrets: a short checksum of each is kept, with which two can be compared and none can be found out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping

from deviate.replicate.environment.variables import numerical_variables

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
