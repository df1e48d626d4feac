"""A Ray on this machine, in a folder of its own, on addresses that no other machine reaches; only its processes end.

It is for tests and benchmarks. Each node is a process tree of its own, with an address of its own.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

#: Seconds until a node is up, at most.
PATIENCE = 120.0

#: Bytes of the object store, which these runs do not use; Ray takes no less.
STORE = 80_000_000


def lacking() -> str:
    """Say why no Ray can be started here; empty where one can."""
    return "" if importlib.util.find_spec("ray") else "the package ray is not installed: pip install ray"


class Ray:
    """The processes of one cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = _free_port()
        self.address = f"127.0.0.2:{self.port}"
        # Nobody else on the machine may use it.
        self.environment = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(24),
        }
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}

    @contextmanager
    def running(self, cpus: int = 2) -> Iterator[Ray]:
        """Start the head, and end all nodes."""
        # Names of sockets are short.
        with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as place:
            head = ["--head", "--port", str(self.port), "--include-dashboard=false", "--temp-dir", place]
            try:
                self._start("127.0.0.2", cpus, head)
                yield self
            finally:
                for name in list(self._nodes):
                    self.kill_node(name)

    def add_node(self, cpus: int = 2) -> str:
        """Start another node; return its address, which is its name."""
        name = next(f"127.0.0.{number}" for number in range(3, 250) if f"127.0.0.{number}" not in self._nodes)
        self._start(name, cpus, ["--address", self.address])
        return name

    def kill_node(self, name: str) -> None:
        """Kill the daemons of a node at once, as if the machine had crashed; what its tasks started stays."""
        node = self._nodes.pop(name)
        processes: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            whole = psutil.Process(node.pid)
            processes = [whole, *(each for each in whole.children(recursive=True) if not _is_task(each))]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        node.wait()
        psutil.wait_procs(processes, timeout=10)

    def _start(self, name: str, cpus: int, words: list[str]) -> None:
        ray = Path(sys.executable).with_name("ray")
        given = [f"--num-cpus={cpus}", f"--object-store-memory={STORE}", "--include-log-monitor=false"]
        log = self.folder / f"{name}.out"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [ray, "start", "--block", "--disable-usage-stats", f"--node-ip-address={name}", *given, *words],
                env={**os.environ, **self.environment}, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        self._nodes[name] = process
        deadline = time.monotonic() + PATIENCE
        while "Ray runtime started" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no node of Ray: {log.read_text()[-500:]}")
            time.sleep(0.1)


def _is_task(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        # Agents are daemons of the node and call themselves so, too.
        return any(word.startswith("ray::") and "Agent" not in word for word in process.cmdline())
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        return int(probe.getsockname()[1])
