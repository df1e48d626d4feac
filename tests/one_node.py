"""A Slurm of one node on this machine, from Debian's packages, in a folder of its own; only its own processes end.

It is for tests and benchmarks: no accounting, no cgroups, and as many nodes' worth of cores as the machine has.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")

#: Seconds until the node takes jobs, at most.
PATIENCE = 40.0

CONFIGURATION = """
ClusterName=deviate
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=1,bf_interval=1,bf_min_age_reserve=0
KillWait=2
MinJobAge=300
SlurmdTimeout=20
InactiveLimit=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=short Nodes={host} Default=YES MaxTime=60 State=UP
PartitionName=long Nodes={host} MaxTime=INFINITE State=UP
"""


def lacking() -> str:
    """Say why no Slurm can be started here; empty where one can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        return f"no {', '.join(missing)} on this machine: apt-get install slurm-wlm munge"
    return "" if os.getuid() == 0 else "slurmctld and slurmd of one machine are started as root"


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class NotStarted(Exception):
    """This machine does not let Slurm start: a container may refuse what its daemons need."""


class Cluster:
    """The processes of one Slurm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._node: subprocess.Popen[bytes] | None = None

    @contextmanager
    def running(self) -> Iterator[Cluster]:
        """Start everything, and stop what was started.

        Raises
        ------
        NotStarted
            With the part that did not come up.
        """
        self._write()
        with ExitStack() as stack:
            stack.enter_context(self._process(*self._munge()))
            _wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            stack.enter_context(self._process("slurmctld", "-D", "-i"))
            self.start_node()
            stack.callback(self.stop_node)
            _wait(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"), "the node")
            stack.callback(self._end_jobs)
            yield self

    def start_node(self) -> None:
        """Start the daemon of the node."""
        self._node = self._start("slurmd", "-D")

    def stop_node(self) -> None:
        """Kill the daemon of the node, as if the machine had crashed; the processes of jobs stay."""
        if self._node is not None:
            self._node.kill()
            self._node.wait()
            self._node = None

    def ask(self, *words: str) -> str:
        """Return what a command of Slurm prints."""
        done = subprocess.run(words, env=self._variables(), capture_output=True, text=True, check=False)
        return done.stdout

    def _end_jobs(self) -> None:
        self.ask("scancel", "--me")
        with suppress(NotStarted):
            _wait(lambda: not self.ask("squeue", "-h"), "jobs")

    def _variables(self) -> Mapping[str, str]:
        return {**os.environ, **self.environment, "PATH": _path()}

    def _munge(self) -> list[str]:
        key, socket_file = self.folder / "munge.key", self.folder / "munge.socket"
        files = [f"--{name}-file={self.folder / f'munge.{name}'}" for name in ("log", "pid", "seed")]
        return ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_file}", *files]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{words[0]}.out").open("ab") as out:
            return subprocess.Popen(words, env=self._variables(), stdout=out, stderr=out, start_new_session=True)

    @contextmanager
    def _process(self, *words: str) -> Iterator[None]:
        process = self._start(*words)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _write(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        text = CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            folder=self.folder,
            cores=os.cpu_count(),
            control_port=_free_port(),
            node_port=_free_port(),
        )
        (self.folder / "slurm.conf").write_text(text)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(is_there: object, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_there():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise NotStarted(f"{what} did not come within {PATIENCE:.0f} s")
        time.sleep(0.1)
