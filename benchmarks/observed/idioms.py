"""How much of what small programs report is seen by watching alone, with the analysis of the source switched off.

    python benchmarks/observed/idioms.py [--verbose] [PROGRAM ...]

Each program of ``tests/integration/idioms`` runs once, bare; it repeats itself, so its log stands for two runs that are
equal. All that is read is what it printed and wrote. Its comments say which metrics to expect and which values its own
output shows of each (``# expect NAME = PATTERN``). A metric counts as *seen* where a number that is judged a metric has
the values shown, and as *rightly named* where the name of one such number has all words of the expected one. *Others*
are numbers judged metrics that show none of those expected.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from deviate.lexicon.words import words_of
from deviate.observe.output.files import read_file
from deviate.observe.output.judge import Judged, judge
from deviate.observe.output.slots import SlotSeries, mine_log

TESTS = Path(__file__).parents[2] / "tests" / "integration"
EXPECTED = re.compile(r"^# expect (.+?) = (.+)$", re.MULTILINE)
NEEDED = re.compile(r"^# needs ", re.MULTILINE)
TIMES = re.compile(r"^# times (.+)$", re.MULTILINE)
QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1",
         "KERAS_BACKEND": "jax", "TF_CPP_MIN_LOG_LEVEL": "3"}  # fmt: skip
TIMEOUT_S = 300


class Reported(NamedTuple):
    """What a program printed and wrote."""

    texts: list[str]
    series: list[SlotSeries]


class Found(NamedTuple):
    """How many expected metrics of a program were seen, and what was not."""

    expected: int
    seen: int
    named: int
    others: int
    problems: list[str]


def programs(names: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the idioms with the script that starts each."""
    folder = TESTS / "idioms"
    scripts = sorted([*folder.glob("*.py"), *folder.glob("*/program.py")])
    for script in scripts:
        name = script.parent.name if script.name == "program.py" else script.stem
        if not names or name in names:
            yield name, script


def run(script: Path) -> Reported | str:
    """Run a program in a scratch folder; return what it reported, or why it failed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "project"
        if script.name == "program.py":
            shutil.copytree(script.parent, folder)
        else:
            folder.mkdir()
            shutil.copy(script, folder / "program.py")
        before = set(folder.rglob("*"))
        library = {} if NEEDED.search(script.read_text()) else {"PYTHONPATH": str(TESTS / "idiom_libraries")}
        command = [sys.executable, "program.py"]
        variables = {**os.environ, **QUIET, **library}
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            return (done.stderr.decode(errors="replace").strip().splitlines() or ["failed"])[-1]
        written = [path for path in sorted(set(folder.rglob("*")) - before) if path.is_file()]
        series = [*mine_log(done.stdout, "stdout").series, *mine_log(done.stderr, "stderr").series]
        for path in written:
            series += read_file(path, path.relative_to(folder).as_posix()).series
        texts = [done.stdout.decode(), "\n".join(path.read_text(errors="replace") for path in written)]
        return Reported(texts, series)


def compare(source: str, reported: Reported) -> Found:
    """Look the expected metrics up among the numbers that are judged metrics."""
    judged = judge({"run-0": reported.series, "run-1": reported.series})
    values = {one.slot.key: one.values.tolist() for one in reported.series}
    metrics = [one for one in judged if one.kind == "metric"]
    seen = named = 0
    problems: list[str] = []
    shown_by: set[tuple[str, str, int]] = set()
    expected = EXPECTED.findall(source)
    for name, pattern in expected:
        texts = next((found for text in reported.texts if (found := re.findall(pattern, text, re.MULTILINE))), [])
        wanted = [float(text) for text in texts]
        showing = [one for one in judged if values[one.slot.key] == wanted]
        hits = [one for one in showing if one.kind == "metric"]
        shown_by |= {one.slot.key for one in showing}
        is_named = any(_stems(name) <= _stems(one.slot.name) for one in hits)
        seen, named = seen + bool(hits), named + is_named
        if not is_named:
            problems.append(f"{name} = {wanted[:3]}: {_said(showing)}")
    times = {word for line in TIMES.findall(source) for word in line.split(", ")}
    others = [one for one in metrics if one.slot.key not in shown_by and one.slot.name not in times]
    problems += [f"other: {one.slot.name} ({one.slot.source}: {one.slot.template!r})" for one in others]
    return Found(len(expected), seen, named, len(others), problems)


def _stems(name: str) -> set[str]:
    """Return the words of a name, in the singular: ``losses`` and ``loss`` name the same."""
    return {re.sub(r"(?<=ss)es$|(?<=[^s])s$", "", word) for word in words_of(name)}


def _said(showing: Sequence[Judged]) -> str:
    return "; ".join(f"{one.kind} {one.slot.name!r} ({one.reason})" for one in showing) or "no number has these values"


def main() -> None:
    """Run the programs and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--verbose", action="store_true", help="Say what was not seen, or named otherwise.")
    options = parser.parse_args()
    total = [0, 0, 0, 0]
    ran = 0
    for name, script in programs(options.programs):
        reported = run(script)
        if isinstance(reported, str):
            print(f"{name}: not run: {reported}", flush=True)
            continue
        found = compare(script.read_text(), reported)
        ran += 1
        total = [a + b for a, b in zip(total, found[:4], strict=True)]
        if options.verbose and found.problems:
            print(f"{name}:", *found.problems, sep="\n    ", flush=True)
    expected, seen, named, others = total
    print(f"{ran} programs, {expected} metrics shown: seen {seen} ({seen / max(expected, 1):.1%}), "
          f"rightly named {named} ({named / max(expected, 1):.1%}); others judged metrics: {others}")  # fmt: skip


if __name__ == "__main__":
    main()
