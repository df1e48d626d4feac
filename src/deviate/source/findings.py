"""The result of the analysis of a project: the contract of ``deviate extract --json``."""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.core.experiment import SCHEMA, Comparison, Draw, MainLoop, Metric, Script

Reason = Literal["setting", "counter", "identifier", "path", "constant", "unreached"]


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A reported value that is not a metric, with the reason."""

    variable: str
    file: str
    line: int
    reason: Reason
    #: Of a metric that this command does not report: its name, and the option that makes the program report it.
    name: str = ""
    needs: str = ""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the entry reaches and that could not be parsed."""

    file: str
    line: int
    error: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the analysis of one project."""

    schema: int = SCHEMA
    entry: str
    main_loop: MainLoop | None
    metrics: list[Metric]
    rejected: list[Rejected] = []
    #: Calls in the project's own files that draw random numbers, with the factor each is of.
    draws: list[Draw] = []
    unreadable: list[Unreadable] = []
    #: Files that were read, relative to the project; absolute for those outside it.
    files: list[str] = []
    #: Files outside the project that were read or tried, since imports may lead there.
    outside: list[str] = []
    #: Where the project's own files compare predictions with targets.
    comparisons: list[Comparison] = []
    #: Whether the main loop is known to train, and does not merely report.
    trains: bool = False
    #: Those of a command that starts several, in their order.
    scripts: list[Script] = []
