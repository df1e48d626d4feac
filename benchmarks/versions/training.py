"""Train one program under Deviate, and check what was recorded, held and varied."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

TRAININGS = Path(__file__).parent / "trainings"

#: Factors that the programs draw for; their docstrings say which.
FACTORS = {"initialisation": "init", "shuffling": "shuffle", "augmentation": "augment", "dropout": "layers"}

LIMIT_S = 1200


def check_training(program: str, python: Path, folder: Path, environment: dict[str, str]) -> list[str]:
    """Return what is not as it should be; nothing if all is well."""
    project = folder / Path(program).stem
    project.mkdir()
    shutil.copy(TRAININGS / program, project)
    factors = factors_of((TRAININGS / program).read_text())
    vary = [word for variant in ("control", *factors) for word in ("--vary", variant)]
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    command = ["run", "--name", "trained", "-n", "2", "--json", "--set", "even_so=true", "--set", "share=none"]
    command += [*vary, "--", str(python), program]
    finished = deviate(command, project, variables)
    if not finished.stdout.startswith("{"):
        return [f"{program}: {last_line(finished.stderr)}"]
    report = json.loads(finished.stdout)
    runs = {(part["variant"], run["index"]): run for part in report["variants"] for run in part["runs"]}
    broken = [
        f"{program}: {key[0]}-{key[1]} {run['status']}: {why(run)}" for key, run in runs.items() if not is_done(run)
    ]
    if broken:
        return broken
    values = recorded(deviate(["report", "trained", "--format", "csv"], project, variables).stdout)
    wrong = [*unequal_to_output(values, project), *wrongly_held(values, runs), *wrongly_varied(values, runs, factors)]
    return [f"{program}: {what}" for what in wrong]


def deviate(words: list[str], project: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the tool of this environment in `project`."""
    return subprocess.run(
        [sys.executable, "-m", "deviate", *words],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def factors_of(source: str) -> list[str]:
    """Return the factors that a program draws for, by its docstring."""
    docstring = source.split('"""')[1]
    return [factor for word, factor in FACTORS.items() if word in docstring]


def is_done(run: dict[str, Any]) -> bool:
    """Tell whether a run completed."""
    return run["status"] == "completed"


def why(run: dict[str, Any]) -> str:
    """Return why a run did not complete."""
    return (run["stderr_tail"] or [run["reason"]])[-1]


def recorded(text: str) -> dict[tuple[str, int], list[float]]:
    """Return the values of each run, in their order, from a table of all records."""
    values = defaultdict(list)
    for row in csv.DictReader(text.splitlines()):
        values[row["variant"], int(row["run"])].append(float(row["value"]))
    return dict(values)


def unequal_to_output(values: dict[tuple[str, int], list[float]], project: Path) -> list[str]:
    """Return the runs whose records are not, bit by bit, what they printed."""
    runs = project / ".deviate" / "experiments" / "trained" / "runs"
    logs = {folder.name: (folder / "stdout.log").read_text() for folder in runs.iterdir()}
    printed = {name: [float(text) for text in re.findall(r" loss (\S+)", log)] for name, log in logs.items()}
    return [
        f"{name}: recorded {values.get(key)}, printed {printed[name]}"
        for name in sorted(printed)
        for key in [(name.rpartition("-")[0], int(name.rpartition("-")[2]))]
        if values.get(key) != printed[name] or not printed[name]
    ]


def wrongly_held(values: dict[tuple[str, int], list[float]], runs: dict[tuple[str, int], dict[str, Any]]) -> list[str]:
    """Return what differs although it was held: both runs of control, and run 0 of every variant."""
    control = "control", 0
    equal = [("control", 1), *((variant, 0) for variant, index in runs if index == 0 and variant != "control")]
    return [
        f"{variant}-{index} is not bit-identical to control-0"
        for variant, index in equal
        if (values[variant, index], runs[variant, index]["fingerprints"])
        != (values[control], runs[control]["fingerprints"])
    ]


def wrongly_varied(
    values: dict[tuple[str, int], list[float]], runs: dict[tuple[str, int], dict[str, Any]], factors: list[str]
) -> list[str]:
    """Return the factors that, varied alone, changed nothing or changed another factor's draws."""
    held = runs["control", 0]["fingerprints"]
    wrong = []
    for factor in factors:
        varied = runs[factor, 1]["fingerprints"]
        changed = sorted(name for name in FACTORS.values() if varied.get(name) != held.get(name))
        if changed != [factor]:
            wrong.append(f"{factor} varied alone changed the draws of: {', '.join(changed) or 'none'}")
        elif values[factor, 1] == values["control", 0]:
            wrong.append(f"{factor} varied alone changed no value")
    return wrong


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return (text.strip().splitlines() or ["no message"])[-1]
