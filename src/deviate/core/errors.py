"""Errors a user can cause, and what to do about each.

    DeviateError
     ├── BadInput                  exit status 2, nothing written
     │    ├── CommandNotFound      command-not-found
     │    ├── EntryNotFound        entry-not-found
     │    ├── NoScript             no-script
     │    ├── EntryNotPython       entry-not-python
     │    ├── EntrySyntax          entry-syntax
     │    ├── NoMetrics            no-metrics
     │    ├── BadOption            bad-option
     │    ├── BadConfig            bad-config
     │    ├── UnknownExperiment    unknown-experiment
     │    ├── UnknownRun           unknown-run
     │    ├── NameTaken            name-taken
     │    ├── NotImportable        not-importable
     │    ├── NotRuns              not-runs
     │    ├── BadGroups            bad-groups
     │    ├── WorkspaceUnusable    workspace-unusable
     │    ├── WorkspaceBusy        workspace-busy
     │    ├── RunElsewhere         run-elsewhere
     │    ├── NoCluster            no-cluster
     │    ├── NoContainer          no-container
     │    └── NotInstalled         not-installed
     ├── OutputLost                output-lost; exit status 1: the job was done, and cannot be printed
     ├── SystemRefused             system-refused; exit status 1: a file or a process that the system refused
     ├── NothingRecorded           nothing-recorded; exit status 1: the job ran and gave no record
     ├── FirstRunFailed            first-run-failed; exit status 1: the job ran and could not begin
     ├── ClusterRefused            cluster-refused; exit status 1: the cluster did not take or did not start the jobs
     ├── FailedAlike               failed-alike; exit status 1: the job ran, and runs failed in the same way
     └── MetricNotRecorded         metric-not-recorded; exit status 1: nor one of the requested metric

Each slug has an entry in ``docs/messages.md``: what it means and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

#: What to type where something was made by a newer Deviate.
UPDATE = "update Deviate: in its folder, type git pull && pip install '.[all]'"


def some_of(names: Sequence[str], most: int) -> str:
    """Join names for a message, counting those beyond the first `most`.

    >>> some_of(["a", "b"], 3), some_of(list("abcde"), 3)
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


class DeviateError(Exception):
    """Anything Deviate tells a user about instead of a traceback.

    Parameters
    ----------
    message : str
        The thing, what was expected and what was found.
    hint : str, optional
        What to type next.
    """

    slug: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(DeviateError):  # noqa: N818
    """The command line, the project or a file of the user is not as it must be."""

    slug = "bad-input"
    exit_status = 2


class CommandNotFound(BadInput):
    """The program that should train does not exist."""

    slug = "command-not-found"


class EntryNotFound(BadInput):
    """No entry script follows from the command, or the one named is missing."""

    slug = "entry-not-found"


class NoScript(EntryNotFound):
    """The command starts no Python script that can be read off it.

    `starts_python` tells whether it starts some.
    """

    slug = "no-script"

    def __init__(self, message: str, hint: str = "", *, starts_python: bool = False) -> None:
        super().__init__(message, hint)
        self.starts_python = starts_python


class EntryNotPython(BadInput):
    """The entry is not Python source."""

    slug = "entry-not-python"


class EntrySyntax(BadInput):
    """The entry does not parse."""

    slug = "entry-syntax"


class NoMetrics(BadInput):
    """No reported value that could be a metric was found."""

    slug = "no-metrics"


class BadOption(BadInput):
    """An option has a value it cannot have."""

    slug = "bad-option"


class BadConfig(BadInput):
    """``deviate.toml`` cannot be used as it is."""

    slug = "bad-config"


class UnknownExperiment(BadInput):
    """No experiment has that name."""

    slug = "unknown-experiment"


class UnknownRun(BadInput):
    """The experiment has no such run."""

    slug = "unknown-run"


class NameTaken(BadInput):
    """The experiment of that name is of another command or another source."""

    slug = "name-taken"


class NotImportable(BadInput):
    """The results to import cannot be read, or hold no values."""

    slug = "not-importable"


class NotRuns(BadInput):
    """Rows to import as runs are epochs, folds or test examples, or may be."""

    slug = "not-runs"


class BadGroups(BadInput):
    """Groups of examples cannot be read, or are not those of the evaluated examples."""

    slug = "bad-groups"


class WorkspaceUnusable(BadInput):
    """The workspace folder cannot be written, or was made by a newer Deviate."""

    slug = "workspace-unusable"


class WorkspaceBusy(BadInput):
    """Another Deviate works on the experiment, or on what experiments share."""

    slug = "workspace-busy"


class RunElsewhere(BadInput):
    """A worker elsewhere makes one of the runs now."""

    slug = "run-elsewhere"


class NoCluster(BadInput):
    """No cluster can be reached from this machine, or its programs are missing."""

    slug = "no-cluster"


class NoContainer(BadInput):
    """No engine that runs containers is on this machine, or it has no such image."""

    slug = "no-container"


class NotInstalled(BadInput):
    """A package that an extra of Deviate brings is needed and not there."""

    slug = "not-installed"


class ClusterRefused(DeviateError):  # noqa: N818
    """The cluster did not take the jobs, or did not start their workers."""

    slug = "cluster-refused"


class OutputLost(DeviateError):  # noqa: N818
    """Standard output takes no more: a full disk, a device that is gone."""

    slug = "output-lost"


class SystemRefused(DeviateError):  # noqa: N818
    """The system refused to read or write a file, or to start something, where nothing more is known."""

    slug = "system-refused"


class NothingRecorded(DeviateError):  # noqa: N818
    """The first run ended and no metric yielded a record."""

    slug = "nothing-recorded"


class FirstRunFailed(DeviateError):  # noqa: N818
    """The first run failed before it recorded anything, for a reason that each further run would have."""

    slug = "first-run-failed"


class FailedAlike(DeviateError):  # noqa: N818
    """The runs of a variant all failed with the same error at the same place, as each further one would."""

    slug = "failed-alike"


class MetricNotRecorded(DeviateError):  # noqa: N818
    """The first run ended and did not record the metric that decides how many runs are made."""

    slug = "metric-not-recorded"
