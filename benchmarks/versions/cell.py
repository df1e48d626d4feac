"""One cell of the matrix: an environment, what runs in it, and the outcome."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

from training import check_training

ROOT = Path(__file__).parents[2]

#: A cell that takes longer hangs.
LIMIT_S = 1500

_VERSIONS = """
import json, platform, sys
try:
    from importlib.metadata import version
except ImportError:
    import pkg_resources
    version = lambda name: pkg_resources.get_distribution(name).version
print(json.dumps(dict([("python", platform.python_version())] + [(name, version(name)) for name in sys.argv[1:]])))
"""


class CellError(Exception):
    """A cell that came to no result; the message is the table's."""


def run_cell(cell: dict[str, Any], interpreter: str | None, scratch: Path) -> dict[str, Any]:
    """Run a cell and return its row."""
    row = {"name": cell["name"], "part": cell["part"], "python": cell["python"], "versions": {}, "ran": ran(cell)}
    if interpreter is None:
        return {**row, "outcome": "not run", "detail": [f"no Python {cell['python']} on this machine"]}
    folder = (scratch / cell["name"]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    try:
        python = make_environment(cell, interpreter, folder)
        row["versions"] = read_versions(python, cell.get("shows", []))
        detail = [*run_tests(cell, python, folder), *run_trainings(cell, python, folder)]
        outcome = "failed" if detail else "passed"
    except CellError as failure:
        outcome, detail = "not run", [str(failure)]
    except subprocess.TimeoutExpired:
        outcome, detail = "not run", [f"took more than {LIMIT_S} s"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**row, "outcome": outcome, "detail": detail, "seconds": round(time.monotonic() - began)}


def ran(cell: dict[str, Any]) -> str:
    """Return what a cell runs, as a shell takes it."""
    return shlex.join([*cell.get("tests", []), *cell.get("trainings", [])])


def make_environment(cell: dict[str, Any], interpreter: str, folder: Path) -> Path:
    """Return the interpreter of a new environment that has the cell's packages."""
    if cell["python"] == "here":
        return Path(interpreter)
    run([interpreter, "-m", "venv", folder / "venv"], "venv")
    python = folder / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]
    if "project" in cell:
        run([*pip, ROOT, *(oldest() if cell["project"] == "oldest" else []), *cell.get("install", [])], "pip")
    elif cell.get("install"):
        run([*pip, *cell["install"]], "pip")
    if cell.get("no_deps"):
        run([*pip, "--no-deps", *cell["no_deps"]], "pip")
    for name in cell.get("imports", []):
        run([python, "-c", f"import {name}"], f"import {name}")
    return python


def oldest() -> list[str]:
    """Return Deviate's dependencies at the oldest versions that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [requirement.replace(">=", "==") for requirement in project["dependencies"]]


def read_versions(python: Path, packages: list[str]) -> dict[str, str]:
    """Return the versions of Python and of `packages` in a cell."""
    return dict(json.loads(run([python, "-c", _VERSIONS, *packages], "versions")))


def run_tests(cell: dict[str, Any], python: Path, folder: Path) -> list[str]:
    """Run the cell's tests, and return those that failed."""
    if "tests" not in cell:
        return []
    cache = ["-o", f"cache_dir={folder / 'cache'}"]
    command = [python, "-m", "pytest", "-q", *cache, "--tb=line", *cell["tests"]]
    finished = start(command, cell.get("environment", {}))
    summary = (finished.stdout.strip().splitlines() or [finished.stderr[-300:]])[-1]
    if finished.returncode == 0 and " passed" in summary:
        return []
    failures = re.findall(r"^(?:FAILED|ERROR) (.*)$", finished.stdout, re.M)
    # A test file that cannot be imported fails without a test's name.
    errors = re.findall(r"^E +(\w*(?:Error|Exception): .*)$", finished.stdout, re.M)
    return [summary.strip("= "), *failures, *errors[:1]]


def run_trainings(cell: dict[str, Any], python: Path, folder: Path) -> list[str]:
    """Train the cell's programs under Deviate, and return what is not as it should be."""
    found = []
    for program in cell.get("trainings", []):
        try:
            found += check_training(program, python, folder, cell.get("environment", {}))
        except subprocess.TimeoutExpired:
            found.append(f"{program}: took more than {LIMIT_S} s")
    return found


def run(words: list[Any], what: str) -> str:
    """Run a command that must succeed, and return what it printed."""
    finished = start(words, {})
    if finished.returncode:
        lines = finished.stderr.strip().splitlines() or ["no message"]
        raise CellError(f"{what}: {next((line for line in lines if line.startswith('ERROR')), lines[-1])}")
    return finished.stdout


def start(words: list[Any], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the root of the project."""
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        list(map(str, words)), cwd=ROOT, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
