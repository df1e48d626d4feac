"""How long commands take that compute nothing or little.

    python benchmarks/start_up/run.py --repeats 9

Makes an experiment of two short runs in a temporary folder, then times each command in turn, round by round. Prints a
table, and one JSON object with --json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRAINING = """
import random
for epoch in range(3):
    accuracy = random.random()
    print(f"accuracy {accuracy:.3f}")
"""

#: The last two compute: they are there to be compared with.
COMMANDS = ("--version", "--help", "run --help", "list", "logs train 0", "show train", "report train")


def deviate(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds on the wall and on the processor, which other work does not disturb as much."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "deviate", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"deviate {' '.join(words)} ended with status {process.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def measure(repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Return what each command took, after one round that is not counted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(TRAINING)
        deviate(["run", "-n", "2", "--name", "train", "--", sys.executable, "train.py"], folder)
        rounds = [{command: deviate(command.split(), folder) for command in COMMANDS} for _ in range(repeats + 1)]
    return {command: [each[command] for each in rounds[1:]] for command in COMMANDS}


def main() -> None:
    """Time the commands and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    taken = measure(options.repeats)
    if options.json:
        print(json.dumps({"python": sys.version.split()[0], "wall_and_processor_seconds": taken}))
        return
    print(f"{'command':16}{'wall':>10}{'processor':>12}")
    for command, listed in taken.items():
        wall, processor = (statistics.median(each) for each in zip(*listed, strict=True))
        print(f"{command:16}{wall:>8.2f} s{processor:>10.2f} s")


if __name__ == "__main__":
    main()
