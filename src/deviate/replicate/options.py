"""What the user may want otherwise of the runs of an experiment."""

from __future__ import annotations

import msgspec

from deviate.replicate.containers.image import ContainerWish


class ReplicateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user may want otherwise."""

    #: Seconds a run may take.
    timeout: float | None = None
    #: Seconds a run may neither record nor print anything.
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: Make runs again that failed, ran for too long or were not instrumented.
    retry_failed: bool = False
    #: Of a fresh experiment, let the first run end before others start: if nothing was recorded the caller stops here.
    probe_first: bool = True
    #: Keep the work folder of completed runs: it holds what they saved. Those of other runs are always kept.
    keep_work: bool = True
    #: Have operations without a deterministic form end the run, where the implementation is held fixed.
    strict: bool = False
    #: Start no run on a machine that is not like that of the first one.
    same_hardware: bool = False
    #: Start runs in a container.
    container: ContainerWish | None = None
    #: What readers of the results have to know of these runs.
    warnings: tuple[str, ...] = ()
