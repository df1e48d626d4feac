"""What ``deviate.toml`` says of clusters."""

from __future__ import annotations

import msgspec


class SlurmEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[slurm]`` table, in the words of sbatch."""

    partition: str = ""
    #: How long a run may take, such as ``2:00:00``.
    time: str = ""
    #: Resources of a run, such as ``gpu:1``.
    gres: str = ""
    #: Cores of a run, and threads of its numerical libraries.
    cpus: int = 1
    #: Folder of each machine in which its runs are made; empty: in the experiment's.
    scratch: str = ""
    #: Runs at a time at most; None: as many as the cluster lets.
    width: int | None = None
    #: Further options of sbatch, such as ``--account=NAME``.
    options: list[str] = []


class RayEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[ray]`` table."""

    #: As ``ray.init`` takes it; empty: ``RAY_ADDRESS``, else the cluster that this machine is part of.
    address: str = ""
    #: Resources of a run, such as ``gpu:1``.
    gres: str = ""
    #: Cores of a run, and threads of its numerical libraries.
    cpus: int = 1
    #: Folder of each machine in which its runs are made; empty: in the experiment's.
    scratch: str = ""
    #: Runs at a time at most; None: as many as there is room for.
    width: int | None = None


class ExportEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[kubernetes]`` and the ``[sky]`` table."""

    #: What holds the project: a PersistentVolumeClaim, or a volume of SkyPilot; empty: machines have its folder.
    volume: str = ""
    #: Where that is mounted, here as there: the project's folder, or one above it; empty: the project's folder.
    mount: str = ""
    #: Resources of a run, such as ``gpu:1``; of SkyPilot such as ``A100:1``.
    gres: str = ""
    #: Cores of a run, and threads of its numerical libraries.
    cpus: int = 1
    #: Folder of each machine in which its runs are made, of a pod a disk of its own; empty: in the experiment's.
    scratch: str = ""
    #: Runs at a time at most; None: as many as there is room for, and on one machine of SkyPilot.
    width: int | None = None
