"""How long intervals of 10,000 resamples take for 20 metrics of 30 runs, and a comparison of one metric.

Prints tables on standard error and one JSON object on standard output::

    python -m venv /tmp/peers && /tmp/peers/bin/pip install deepsig rliable
    python benchmarks/statistics/speed.py --peers /tmp/peers/bin/python > speed.json

Intervals stand beside those of deepsig, rliable and SciPy. Each way is timed `--repeats` times in turn (A B C A B C),
and the median counts. All get the same values. What they give is not the same: Deviate and the SciPy loop give BCa
intervals of mean and SD, rliable percentile intervals of both, deepsig no interval, but a bootstrap test of two samples
with as many resamples.

A comparison is `contrast()`, which makes the tests that somebody asks for, or none. What counts is the processor time
of the fastest of `BATCHES` batches of `CALLS` calls, each with values of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable

import numpy as np
from scipy import stats

from deviate.stats.contrast import TESTS, contrast
from deviate.stats.intervals import bootstrap_mean_intervals, bootstrap_sd_intervals

METRICS, RUNS, RESAMPLES = 20, 30, 10_000

#: Runs a side of the comparisons, and how often each is made.
SIDES, BATCHES, CALLS = (8, 30), 20, 10

#: Run by the interpreter that has the peers: reads the values from standard input, writes seconds for each way.
PEERS = r"""
import contextlib, io, json, sys, time
import numpy as np

values, resamples = json.load(sys.stdin)
table = np.array(values)
sd = lambda scores: np.std(scores, ddof=1)
found = {}

def timed(name, work):
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        work()
    found[name] = time.perf_counter() - started

try:
    from rliable import library
    def rliable():
        for sample in table:
            for statistic in (np.mean, sd):
                library.get_interval_estimates(
                    {"a": sample[:, None]}, lambda scores: np.array([statistic(scores)]), reps=resamples
                )
    timed("rliable, mean and SD", rliable)
except ImportError as error:
    print("rliable:", error, file=sys.stderr)
try:
    from deepsig import bootstrap_test
    def deepsig():
        for sample in table:
            bootstrap_test(sample, sample + 0.1, num_samples=resamples)
    timed("deepsig bootstrap_test", deepsig)
except ImportError as error:
    print("deepsig:", error, file=sys.stderr)
json.dump(found, sys.stdout)
"""


def main() -> None:
    """Time all ways, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", help="a Python interpreter that has deepsig and rliable")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    table = np.random.default_rng(1).normal(90, 1, (METRICS, RUNS))
    seconds: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        for name, work in WAYS.items():
            seconds.setdefault(name, []).append(timed(work, table))
        for name, found in (peers(options.peers, table) if options.peers else {}).items():
            seconds.setdefault(name, []).append(found)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    print(laid_out(medians), file=sys.stderr)
    comparisons = {f"{n} against {n} runs, {what}": compared(n, what) for n in SIDES for what in ASKED}
    print(*(f"{name:<56}{found:>6.1f} ms" for name, found in comparisons.items()), sep="\n", file=sys.stderr)
    shape = {"metrics": METRICS, "runs": RUNS, "resamples": RESAMPLES, "repeats": options.repeats}
    print(json.dumps({**shape, "seconds": medians, "comparison_ms": comparisons}))


def deviate(table: np.ndarray) -> None:
    """Give the intervals as the report does."""
    rng = np.random.default_rng(0)
    bootstrap_mean_intervals(list(table), rng, resamples=RESAMPLES)
    bootstrap_sd_intervals(list(table), rng, resamples=RESAMPLES)


def scipy_loop(table: np.ndarray) -> None:
    """Call SciPy once for each metric and statistic."""
    rng = np.random.default_rng(0)
    for sample in table:
        for statistic in (np.mean, deviation):
            stats.bootstrap((sample,), statistic, n_resamples=RESAMPLES, method="BCa", rng=rng)


UNPERMUTED = tuple(name for name in TESTS if "permutation" not in name)

#: What is asked of a comparison -> whether runs are paired, and which tests are looked at.
ASKED: dict[str, tuple[bool, tuple[str, ...]]] = {
    "no test": (False, ()),
    "every test but permutations": (False, tuple(name for name in UNPERMUTED if not TESTS[name].paired)),
    "pairs, every test but permutations": (True, UNPERMUTED),
}


def compared(n: int, what: str) -> float:
    """Return the milliseconds of processor time that a comparison of one metric takes."""
    paired, tests = ASKED[what]
    rng = np.random.default_rng(1)
    samples = iter(rng.normal(90, 1, (BATCHES * CALLS, 2, n)))
    pairs = [(run, run) for run in range(n)] if paired else []

    def once() -> None:
        found = contrast(*next(samples), rng, pairs=pairs)
        for name in tests:
            found.tests[name]

    return 1000 * min(timeit.repeat(once, timer=time.process_time, repeat=BATCHES, number=CALLS)) / CALLS


def deviation(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Give the SD."""
    return np.std(values, axis=axis, ddof=1)


WAYS: dict[str, Callable[[np.ndarray], None]] = {"deviate, mean and SD": deviate, "SciPy loop, mean and SD": scipy_loop}


def timed(work: Callable[[np.ndarray], None], table: np.ndarray) -> float:
    """Return the seconds it takes."""
    started = time.perf_counter()
    work(table)
    return time.perf_counter() - started


def peers(python: str, table: np.ndarray) -> dict[str, float]:
    """Time the peers in their own interpreter; its start and imports are not counted."""
    values = json.dumps([table.tolist(), RESAMPLES])
    done = subprocess.run([python, "-c", PEERS], input=values, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        raise SystemExit(f"{python} cannot run the peers: {done.stderr.strip()[-400:]}")
    return dict(json.loads(done.stdout))


def laid_out(medians: dict[str, float]) -> str:
    """Lay the times out, fastest first, with how many times longer each takes than Deviate."""
    own = medians["deviate, mean and SD"]
    head = f"{METRICS} metrics of {RUNS} runs, {RESAMPLES:,} resamples"
    rows = sorted(medians.items(), key=lambda row: row[1])
    return "\n".join([head, *(f"{name:<28}{found:>9.3f} s{found / own:>9.1f} x" for name, found in rows)])


if __name__ == "__main__":
    main()
