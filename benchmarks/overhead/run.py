"""Measure what recording and watching cost: per record, and over whole trainings.

    python benchmarks/overhead/run.py [--pairs N] [--repeats N] [FOLDER COMMAND]...

    python benchmarks/overhead/run.py examples/digits_mlp "python train.py" examples/numpy_loop "python train.py"

Prints a table on standard error and one JSON object with the same figures on standard output.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from costs import measure_costs


def main() -> None:
    """Measure, and print table and JSON."""
    options = parse_options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = {
            "benchmark": "overhead",
            "python": platform.python_version(),
            "machine": platform.processor() or platform.machine(),
            "record_ns": measure_costs(folder, options.repeats),
            "trainings": {
                f"{project}: {command}": measure_training(Path(project), command, folder, options.pairs)
                for project, command in zip(options.trainings[::2], options.trainings[1::2], strict=True)
            },
        }
    print_table(report)
    print(json.dumps(report, indent=2))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure what recording costs.")
    parser.add_argument("trainings", nargs="*", metavar="FOLDER COMMAND", help="trainings to compare with bare ones")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of a bare and an instrumented run (default 9)")
    parser.add_argument("--repeats", type=int, default=101, help="repeats of each cost per record (default 101)")
    options = parser.parse_args()
    if len(options.trainings) % 2:
        parser.error("each FOLDER needs a COMMAND")
    return options


def measure_training(project: Path, command: str, folder: Path, pairs: int) -> dict[str, object]:
    """Compare one training with its bare form."""
    from trainings import compare, prepare

    return compare(prepare(project.resolve(), command), folder, pairs)


def print_table(report: dict[str, Any]) -> None:
    """Print the figures for people."""
    lines = [f"{'one record':<36}{'ns':>12}"]
    for name, cost in sorted(report["record_ns"].items(), key=lambda item: item[1]):
        lines.append(f"{name:<36}{cost:>12,.0f}")
    for name, figures in report["trainings"].items():
        about = f"{figures['records']} records, {figures['bare_cpu_s']:.2f} s bare, {figures['pairs']} pairs"
        lines += [
            "",
            f"{name}: {about}",
            f"{'instrumented / bare':<36}{'median':>9}{'low':>9}{'high':>9}{'min':>9}{'max':>9}",
        ]
        row = (figures["cpu"][key] for key in ("median", "low", "high", "min", "max"))
        lines.append(f"  {'processor time':<34}" + "".join(f"{value:>9.4f}" for value in row))
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
