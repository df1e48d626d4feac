"""Time the mining of printed output of growing length, and its memory.

    python benchmarks/observed/speed.py [--lines N ...] [--repeats N]

Logs of several kinds are written from one seed, of which the largest has 10^6 printed lines; each is mined in a
process of its own. Seconds of the processor are what is judged, of the cheapest of the repeats. Memory is the peak of
that process, the log itself included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

#: How often each displayed line of a bar is written.
STATES = 11
#: What is promised for 10^6 lines.
MOST_SECONDS, MOST_MEGABYTES = 10.0, 500.0

_MINE = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from speed import log_of
from deviate.observe.output.slots import mine_log
data = log_of(sys.argv[2], int(sys.argv[3]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
start, used = time.perf_counter(), time.process_time()
series = mine_log(data, "stdout").series
print(json.dumps({
    "kind": sys.argv[2], "lines": int(sys.argv[3]), "megabytes_of_log": round(len(data) / 1e6, 1),
    "seconds": round(time.perf_counter() - start, 2), "processor_seconds": round(time.process_time() - used, 2),
    "slots": len(series), "values": sum(len(one.values) for one in series), "peak_before_mb": round(before),
    "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
}))
"""


def steps(rng: np.random.Generator) -> Iterator[str]:
    """Yield a line for each step, as most loops print it."""
    step = 0
    while True:
        for loss, accuracy, seconds in rng.random((1000, 3)):
            step += 1
            yield f"Epoch [{step // 1000:3d}/500] step {step} loss: {loss:.4f} acc: {accuracy:7.2%} time {seconds:.3f}s"


def meters(rng: np.random.Generator) -> Iterator[str]:
    """Yield lines with nine numbers, as scripts with average meters print them."""
    step = 0
    while True:
        for a, b, c, d, e, f in rng.random((1000, 6)) * 10:
            step += 1
            yield (f"Epoch: [{step // 5000}][{step % 5000:4d}/5000]\tTime {a:6.3f} ({b:6.3f})\tLoss {c:.4e} ({d:.4e})"
                   f"\tAcc@1 {e:6.2f} ({f:6.2f})")  # fmt: skip


def dictionaries(rng: np.random.Generator) -> Iterator[str]:
    """Yield dictionaries with all digits, as trainers print them."""
    while True:
        for loss, norm, rate, epoch in rng.random((1000, 4)).tolist():
            yield str({"loss": loss, "grad_norm": norm * 10, "learning_rate": rate * 1e-4, "epoch": epoch})


def stamped(rng: np.random.Generator) -> Iterator[str]:
    """Yield lines with a clock reading and a path that differs in each of them."""
    step = 0
    while True:
        for loss, code in zip(rng.random(1000), rng.integers(1 << 60, size=1000).tolist(), strict=True):
            step += 1
            clock = f"{step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d},{step % 1000:03d}"
            yield f"2026-01-05 {clock} INFO trainer.py:88 wrote /tmp/run-{code:x}/last.pt, loss {loss:.5f}"


def bars(rng: np.random.Generator) -> Iterator[str]:
    """Yield lines with all the states of a bar."""
    while True:
        for loss in rng.random(1000):
            states = (
                f"{10 * k:3d}%|{'█' * k:10}| {k}/10 [00:0{k % 10}<00:00, {k + loss:.2f}it/s]" for k in range(STATES)
            )
            yield "\r".join(states)


KINDS: dict[str, Callable[[np.random.Generator], Iterator[str]]] = {
    one.__name__: one for one in (steps, meters, dictionaries, stamped, bars)
}


def log_of(kind: str, lines: int) -> bytes:
    """Return a log of a kind with this many printed lines; those of bars are states of fewer displayed ones."""
    log = bytearray()
    for line in islice(KINDS[kind](np.random.default_rng(1)), lines // STATES if kind == "bars" else lines):
        log += line.encode() + b"\n"
    return bytes(log)


def mined(kind: str, lines: int, repeats: int) -> dict[str, float]:
    """Mine a log in fresh processes; return the cheapest."""
    command = [sys.executable, "-c", _MINE, str(__file__.rpartition("/")[0] or "."), kind, str(lines)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats)]
    return min(runs, key=lambda one: one["processor_seconds"])


def main() -> None:
    """Print a table on standard error and one JSON object on standard output."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = []
    print(
        "| log | lines | MB | processor s | peak MB | slots | values |\n|---|---:|---:|---:|---:|---:|---:|",
        file=sys.stderr,
    )
    for kind in options.kinds:
        for lines in options.lines:
            row = mined(kind, lines, options.repeats)
            rows.append(row)
            print(f"| {kind} | {lines:,} | {row['megabytes_of_log']} | {row['processor_seconds']} | {row['peak_mb']} | "
                  f"{row['slots']} | {row['values']:,} |", file=sys.stderr)  # fmt: skip
    print(json.dumps({"most_seconds": MOST_SECONDS, "most_megabytes": MOST_MEGABYTES, "rows": rows}))


if __name__ == "__main__":
    main()
