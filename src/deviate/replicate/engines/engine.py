"""What starts workers elsewhere: it is asked for them, tells which of them are still to come or go on, and ends them.

How a run ended is never asked: that is in the files that its worker left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from deviate.project.cluster import RayEntry, SlurmEntry
from deviate.replicate.orders import Submission


class Place(NamedTuple):
    """The place of a run in a submission."""

    submission: str
    task: int


class JobState(NamedTuple):
    """What an engine says of a job."""

    #: The engine's own word.
    word: str
    #: Whether the worker is still to come, or goes on.
    is_active: bool
    #: Why the worker is still to come, in the engine's word; empty where it does not wait.
    waits: str = ""


class Printer(Protocol):
    """Says as text what starts workers."""

    @property
    def name(self) -> str:
        """The word users type for it."""

    @property
    def address(self) -> str:
        """Where it is reached; empty where this machine knows."""

    @property
    def threads(self) -> int:
        """Threads that a run is given."""

    @property
    def scratch(self) -> str:
        """Folder of each machine in which its runs are made; empty: in the experiment's."""

    def script(self, submission: Submission) -> str:
        """Return what a user submits by hand to have a worker for each run."""


class Engine(Printer, Protocol):
    """Starts workers."""

    @property
    def wishes(self) -> SlurmEntry | RayEntry:
        """What the user asks for each of them."""

    @property
    def width(self) -> int | None:
        """Most workers of a submission at a time; None: as many as fit."""

    def check(self) -> None:
        """Refuse what cannot be, before anything is written.

        Raises
        ------
        NoCluster
            If the engine cannot be reached from this machine.
        """

    def submit(self, submission: Submission) -> None:
        """Ask for a worker for each run.

        Raises
        ------
        ClusterRefused
            With what the engine says.
        """

    def states(self) -> Mapping[Place, JobState] | None:
        """Return what is known of this user's workers; None where that cannot be told at the moment."""

    def cancel(self, submissions: Collection[str]) -> None:
        """End the workers of submissions."""

    def cancel_words(self, submissions: Collection[str]) -> str:
        """Return what a user types to end the workers of submissions."""
