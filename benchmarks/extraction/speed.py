"""Time the analysis of projects of growing size, and of one small project as a whole command.

    python benchmarks/extraction/speed.py [--lines N ...] [--project FOLDER ENTRY] [--large FOLDER ENTRY]...
                                          [--repeats N] [--json FILE]

The projects of growing size are written by ``written.py``, from one seed: packages of data sets, models, losses and
training loops, all of which the entry imports. They are denser than real ones, with a report every 33 lines, and show
how the time grows; large real projects can be given beside them, such as pytorch-image-models. Each is analysed in a
process of its own. The small one is written too,
at the size of nanoGPT, unless a checkout is given; there the whole command ``deviate extract`` is timed, and beside it
an interpreter that does nothing. Seconds of the processor are what is judged, of the cheapest of the repeats: what else
runs on a machine only ever adds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from written import write_project

SIZES = [10_000, 25_000, 50_000, 100_000]
#: What is promised: seconds of 100,000 lines, and of a small project beyond the start of the interpreter.
MOST_SECONDS = 10.0
#: The time of a line in the largest written project, as a multiple of that in the smallest: more is not linear.
MOST_GROWTH = 1.5
MOST_SMALL_SECONDS = 0.5
#: Lines of nanoGPT's train.py and model.py.
SMALL = 660

_ANALYSE = """
import json, sys, time
from pathlib import Path
from deviate.source.analysis import analyse_project
root = Path(sys.argv[1])
start, used = time.perf_counter(), time.process_time()
found = analyse_project(Path(sys.argv[1]), Path(sys.argv[2]))
print(json.dumps({
    "seconds": time.perf_counter() - start, "processor_seconds": time.process_time() - used,
    "files": len(found.files), "lines": sum(len((root / name).read_bytes().splitlines()) for name in found.files),
    "metrics": sum(one.selected for one in found.metrics), "loop": bool(found.main_loop),
}))
"""


def analysis_of(project: Path, entry: str, repeats: int) -> dict[str, Any]:
    """Analyse a project in fresh processes; return the fastest."""
    command = [sys.executable, "-c", _ANALYSE, str(project), entry]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats)]
    return min(runs, key=lambda one: one["processor_seconds"])


def grown(sizes: list[int], repeats: int) -> list[dict[str, Any]]:
    """Time the analysis of written projects of these sizes."""
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_project(Path(folder), size)
            rows.append({"project": "written", **by_line(analysis_of(Path(folder), "train.py", repeats))})
    return rows


def by_line(row: dict[str, Any]) -> dict[str, Any]:
    """Add what a line takes."""
    return {**row, "microseconds_per_line": 1e6 * row["processor_seconds"] / row["lines"]}


def processor_seconds(command: list[str], repeats: int, folder: Path | None = None) -> float:
    """Processor seconds of the cheapest run of a command."""
    found = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def small(project: Path, entry: str, repeats: int) -> dict[str, Any]:
    """Time ``deviate extract`` as a whole, and an interpreter that does nothing."""
    program = str(Path(sys.executable).with_name("deviate"))
    whole = processor_seconds([program, "extract", entry, "--json"], repeats, project)
    idle = processor_seconds([sys.executable, "-c", "pass"], repeats)
    analysis = analysis_of(project, entry, repeats)["processor_seconds"]
    return {"command_seconds": whole, "interpreter_seconds": idle, "beyond_interpreter_seconds": whole - idle,
            "analysis_seconds": analysis}  # fmt: skip


def main() -> int:
    """Time both, print the tables and the JSON; 1 where it took longer than promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="+", default=SIZES)
    parser.add_argument("--project", nargs=2, metavar=("FOLDER", "ENTRY"))
    parser.add_argument("--large", nargs=2, metavar=("FOLDER", "ENTRY"), action="append", default=[])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    written = grown(options.lines, options.repeats)
    large = [
        {"project": Path(folder).resolve().name, **by_line(analysis_of(Path(folder), entry, options.repeats))}
        for folder, entry in options.large
    ]
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder), SMALL)
        project, entry = options.project or (folder, "train.py")
        one = small(Path(project), entry, 2 * options.repeats + 1)
    print(
        "| project | lines | files | seconds | processor seconds | µs a line | metrics |\n|---|---|---|---|---|---|---|"
    )
    for row in written + large:
        print(f"| {row['project']} | {row['lines']:,} | {row['files']} | {row['seconds']:.2f} | "
              f"{row['processor_seconds']:.2f} | {row['microseconds_per_line']:.0f} | {row['metrics']} |")  # fmt: skip
    print(f"\nsmall project: analysis {one['analysis_seconds']:.2f} s, command {one['command_seconds']:.2f} s, "
          f"of which beyond the interpreter's start {one['beyond_interpreter_seconds']:.2f} s\n")  # fmt: skip
    result = {"grown": written, "large": large, "small": one}
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    slow = any(row["microseconds_per_line"] > 1e6 * MOST_SECONDS / 100_000 for row in large)
    bends = written[-1]["microseconds_per_line"] > MOST_GROWTH * written[0]["microseconds_per_line"]
    return int(slow or bends or one["beyond_interpreter_seconds"] > MOST_SMALL_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
