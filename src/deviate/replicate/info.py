"""How a run was started: what has to be known to tell identical runs from others, and to find its processes again."""

from __future__ import annotations

import msgspec

from deviate.experiment import SCHEMA


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was started: ``run.json``."""

    schema: int = SCHEMA
    variant: str
    index: int
    #: The seed of each factor; None where the program's own seeds are left alone.
    seeds: dict[str, int] | None
    hold_impl: bool
    #: Operations without a deterministic form end the run instead of being noted.
    strict: bool = False
    #: The machine it was told to believe to be on; None: told nothing.
    platform: str | None = None
    argv: list[str]
    cwd: str
    #: Variables that differ from the environment Deviate was started in; None: taken away.
    environment: dict[str, str | None]
    executor: str
    host: str
    #: Place among the runs that go on side by side, from 0.
    slot: int
    #: Runs that could go on side by side.
    jobs: int
    #: Cores the run was held to; None: not held.
    cores: list[int] | None = None
    #: Threads its numerical libraries were told to use; None: not told.
    threads: int | None = None
    gpus: str | None = None
    #: Variables that numerical libraries read, as they were set for the run.
    variables: dict[str, str] = {}
    #: The project's commit and what was changed since; None where git does not know it.
    git: str | None = None
    #: GPUs of the machine with their driver, whether or not the run uses them.
    installed_gpus: list[str] = []
    #: Operating system with its version.
    system: str = ""
    #: Local time of the start in ISO 8601.
    started: str
    #: The process Deviate started, and when the system says it was created; None until it runs.
    pid: int | None = None
    created: float | None = None
