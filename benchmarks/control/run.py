"""Try control on public projects: `python run.py SCRATCH --mirrors FOLDER [--python PYTHON] [--project OWNER/NAME]`.

Each project of projects.toml is checked out of a git mirror, set up and run: twice as it is without Deviate, then
under `deviate audit`, then under `deviate run` with control, as-is and each factor alone. What came of it is
written to SCRATCH/OWNER+NAME/observed.json, beside the raw outputs. Whether what Deviate said is true is judged by
reading the project; the judgements are in first_sight.json, after_mending.json, later_sight.json and later_again.json.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent

FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")

#: A bare training that takes longer is no small project.
BARE_LIMIT_S = 180

#: A run, and an audit or an experiment, that takes longer hangs, even on a busy machine.
RUN_LIMIT_S = 300
DEVIATE_LIMIT_S = 2400

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)")


def main() -> None:
    """Try each chosen project and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch", type=Path)
    parser.add_argument(
        "--mirrors", type=Path, required=True, help="folder that holds OWNER+NAME/repo for each project"
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter that has what the projects import")
    parser.add_argument("--project", action="append", default=[], help="OWNER/NAME; all of projects.toml by default")
    chosen = parser.parse_args()
    for project in tomllib.loads((HERE / "projects.toml").read_text())["project"]:
        if not chosen.project or project["repo"] in chosen.project:
            folder = (chosen.scratch / project["repo"].replace("/", "+")).resolve()
            observed = try_project(project, chosen.mirrors, chosen.python, folder)
            (folder / "observed.json").write_bytes(msgspec.json.format(msgspec.json.encode(observed), indent=1))
            print(row(observed), flush=True)


def try_project(project: dict[str, Any], mirrors: Path, python: str, folder: Path) -> dict[str, Any]:
    """Check a project out, run it bare and under Deviate, and return what was observed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    environment = environment_of(project, python)
    check_out(project, mirrors, folder / "checkout")
    finished = start(["bash", "-ec", project.get("setup", "")], folder / "checkout", environment, BARE_LIMIT_S)
    if finished.returncode:
        raise SystemExit(f"{project['repo']}: setup failed: {finished.stderr[-500:]}")
    words = [python, *shlex.split(project["command"])]
    bare = [run_bare(project, folder, index, words, environment) for index in range(2)]
    audit = run_audit(project, folder, words, environment)
    truth = project.get("truth", {})
    present = {name for said in (truth, audit.get("verdicts", {})) for name in said if said[name] != "absent"}
    factors = [factor for factor in FACTORS if factor in present]
    trained = run_variants(folder, project.get("folder", "."), words, environment, factors)
    return {
        "repo": project["repo"],
        "half": half_of(project["repo"]),
        "kind": project["kind"],
        "truth": truth,
        "bare": {"status": [run["status"] for run in bare], "agree": bare[0]["numbers"] == bare[1]["numbers"]},
        "audit": audit,
        "trained": trained,
        "as_is_equals_bare": compare_with_bare(bare, folder / "project"),
        "seconds": round(time.monotonic() - began),
    }


def half_of(repo: str) -> str:
    """Return the half that a project belongs to: faults are mended on the first, checked on the second."""
    return "second" if zlib.crc32(repo.encode()) % 2 else "first"


def environment_of(project: dict[str, Any], python: str) -> dict[str, str]:
    """Return the variables of every command: that Python first on the path, one thread, no window, no network."""
    ours = {
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]]),
        "STUBS": str(HERE / "stubs"),
        "SETUPS": str(HERE / "setups"),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "HF_HUB_OFFLINE": "1",
    }
    return {**os.environ, **ours, **project.get("environment", {})}


def check_out(project: dict[str, Any], mirrors: Path, target: Path) -> None:
    """Write the files of a commit that the mirror holds; large files may be missing there."""
    mirror = mirrors / project["repo"].replace("/", "+") / "repo"
    git = ["git", f"--git-dir={mirror / '.git' if (mirror / '.git').is_dir() else mirror}"]
    listing = subprocess.run(
        [*git, "ls-tree", "-r", "-z", project["commit"]], capture_output=True, text=True, check=True
    )
    only = tuple(project.get("only", [""]))
    for entry in listing.stdout.split("\0")[:-1]:
        about, path = entry.split("\t", 1)
        mode, kind, name = about.split()
        if kind == "blob" and mode != "120000" and path.startswith(only):
            content = subprocess.run([*git, "cat-file", "blob", name], capture_output=True, check=False)
            if content.returncode == 0:
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(content.stdout)
    identity = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "as published"]):
        subprocess.run(["git", *words], cwd=target, check=True)


def run_bare(
    project: dict[str, Any], folder: Path, index: int, words: list[str], environment: dict[str, str]
) -> dict[str, Any]:
    """Run the command without Deviate in a fresh copy of the checkout."""
    copy = folder / f"bare-{index}"
    shutil.copytree(folder / "checkout", copy, symlinks=True)
    finished = start(words, copy / project.get("folder", "."), environment, BARE_LIMIT_S)
    shutil.rmtree(copy)
    (folder / f"bare-{index}.txt").write_text(finished.stdout + "\n--- stderr\n" + finished.stderr)
    return {"status": finished.returncode, "numbers": numbers(finished.stdout) or numbers(finished.stderr)}


def run_audit(project: dict[str, Any], folder: Path, words: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Audit the command, and return the verdict for each factor beside the notes."""
    where = folder / "audited"
    shutil.copytree(folder / "checkout", where, symlinks=True)
    began = time.monotonic()
    finished = deviate(["audit", "--json", "--", *words], where / project.get("folder", "."), environment)
    shutil.rmtree(where)
    (folder / "audit.json").write_text(finished.stdout)
    (folder / "audit.stderr").write_text(finished.stderr)
    seconds = round(time.monotonic() - began)
    if not finished.stdout.startswith("{"):
        return {"status": finished.returncode, "error": finished.stderr[-800:], "seconds": seconds}
    said = msgspec.json.decode(finished.stdout)
    return {
        "status": finished.returncode,
        "verdicts": {part["factor"]: part["verdict"] for part in said["factors"]},
        "why": {part["factor"]: part["why"] for part in said["factors"] if part["why"]},
        "pins": {
            part["factor"]: [f"{pin['call']} {pin['file']}:{pin['line']}" for pin in part["pins"]]
            for part in said["factors"]
            if part["pins"]
        },
        "not_held": [part["factor"] for part in said["factors"] if part["held"] is False],
        "not_moved": [part["factor"] for part in said["factors"] if part["moved"] is False],
        "leaks": {part["factor"]: part["leaks"] for part in said["factors"] if part["leaks"]},
        "draws_left": said["draws_left"],
        "notes": said["notes"],
        "probes": {f"{probe['name']} {i}": probe["ended"] for i, probe in enumerate(said["probes"])},
        "seconds": seconds,
    }


def run_variants(
    folder: Path, stands_in: str, words: list[str], environment: dict[str, str], factors: list[str]
) -> dict[str, Any]:
    """Run control, as-is and each factor alone, twice each, and return what the report says and what is true of it.

    Factors of which neither the code nor the audit shows a draw are left out.
    """
    where = folder / "project"
    shutil.copytree(folder / "checkout", where, symlinks=True)
    place = where / stands_in
    vary = [word for variant in ("control", "as-is", *factors) for word in ("--vary", variant)]
    began = time.monotonic()
    command = [
        "run",
        "--name",
        "field",
        "-n",
        "2",
        "--set",
        f"timeout={RUN_LIMIT_S}",
        "--json",
        "--set",
        "even_so=true",
        "--set",
        "share=none",
        *vary,
        "--",
        *words,
    ]
    finished = deviate(command, place, environment)
    seconds = round(time.monotonic() - began)
    (folder / "run.json").write_text(finished.stdout)
    (folder / "run.stderr").write_text(finished.stderr)
    if not finished.stdout.startswith("{"):
        return {"status": finished.returncode, "error": finished.stderr[-800:], "seconds": seconds}
    (folder / "report.txt").write_text(deviate(["report", "field"], place, environment).stdout)
    report = msgspec.json.decode(finished.stdout)
    experiment = next(where.rglob(".deviate/experiments/field"))
    runs = {(part["variant"], run["index"]): run for part in report["variants"] for run in part["runs"]}
    timings = {metric["name"] for part in report["variants"] for metric in part["metrics"] if metric["kind"] == "speed"}
    values = recorded(deviate(["report", "field", "--format", "csv"], place, environment).stdout, timings)
    draws = msgspec.json.decode((experiment / "experiment.json").read_bytes())["draws"]
    return {
        "status": finished.returncode,
        "failed": sorted(run["name"] for run in runs.values() if run["status"] != "completed"),
        "draws": [f"{draw['file']}:{draw['line']} {draw['call']}: {draw['factor']}" for draw in draws],
        "values": len(values.get(("control", 0), [])),
        "control": differences(values, runs, ("control", 0), ("control", 1)),
        "run_0_of": {
            factor: unequal
            for factor in factors
            if (unequal := differences(values, runs, ("control", 0), (factor, 0))) != []
        },
        "varied_alone": {factor: differences(values, runs, ("control", 0), (factor, 1)) for factor in factors},
        "identity": {part["variant"]: part["identity"] for part in report["variants"]},
        "broken": {
            part["variant"]: broken
            for part in report["variants"]
            if (broken := [proof["name"] for proof in part["evidence"] if proof["broken"]])
        },
        "warnings": [
            f"{warning['variant'] or 'all'}: {warning['slug']}: {warning['message']}" for warning in report["warnings"]
        ],
        "draws_left_to_other": report["draws_left_to_other"],
        "seconds": seconds,
    }


def differences(
    values: dict[tuple[str, int], list[tuple[str, str]]], runs: dict[Any, Any], one: Any, other: Any
) -> list[str]:
    """Return the fingerprints in which two runs differ, and `values` where what they recorded differs."""
    prints = [runs[key]["fingerprints"] for key in (one, other)]
    unequal = sorted(name for name in {*prints[0], *prints[1]} if prints[0].get(name) != prints[1].get(name))
    first, second = values.get(one, []), values.get(other, [])
    if one[0] != other[0] and first and second:
        # Each variant has its own choice of the metrics that are seen in the output alone.
        shared = {name for name, _ in first} & {name for name, _ in second}
        first, second = ([row for row in rows if row[0] in shared] for rows in (first, second))
    return [*unequal, *(["values"] if first != second else [])]


def recorded(text: str, timings: set[str]) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Return the values of each run from the table of all records, those of `timings` left out."""
    values = defaultdict(list)
    for line in csv.DictReader(text.splitlines()):
        if line["metric"] not in timings:
            values[line["variant"], int(line["run"])].append((line["metric"], line["value"]))
    return dict(values)


def compare_with_bare(bare: list[dict[str, Any]], project: Path) -> str:
    """Tell whether an as-is run printed the numbers that both bare runs printed."""
    runs = list(project.rglob(".deviate/experiments/field/runs/as-is-0"))
    if not runs:
        return "no as-is run"
    logs = [(runs[0] / name).read_text(errors="replace") for name in ("stdout.log", "stderr.log")]
    first, second = (run["numbers"] for run in bare)
    printed = numbers(logs[0]) or numbers(logs[1])
    if not len(first) == len(second) == len(printed):
        return f"{len(first)}, {len(second)} and {len(printed)} numbers"
    same = [i for i, number in enumerate(first) if number == second[i]]
    unequal = [i for i in same if printed[i] != first[i]]
    return f"{len(same) - len(unequal)} of {len(same)} numbers equal, {len(first) - len(same)} differ between bare runs"


def numbers(text: str) -> list[str]:
    """Return the numbers of a text."""
    return _NUMBER.findall(text)


def deviate(words: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the tool of this environment in `folder`."""
    return start([sys.executable, "-m", "deviate", *words], folder, environment, DEVIATE_LIMIT_S)


def start(
    words: list[str], folder: Path, environment: dict[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it printed; one that takes too long ends with status 124."""
    try:
        return subprocess.run(
            words,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"took more than {limit_s} s")


def row(observed: dict[str, Any]) -> str:
    """Return one line on a project: what failed, what differs under control, and what was said wrongly by the truth."""
    verdicts, truth = observed["audit"].get("verdicts", {}), observed["truth"]
    wrong = [f"{name} {verdicts.get(name)}, not {truth[name]}" for name in truth if verdicts.get(name) != truth[name]]
    trained = observed["trained"]
    return " | ".join(
        [
            observed["repo"],
            observed["half"],
            f"bare {observed['bare']['status']}",
            trained.get("error", f"failed {trained.get('failed')}")[-200:].strip(),
            f"control differs in {trained.get('control')} of {trained.get('values')} values",
            f"audit {wrong or 'agrees'}",
            f"broken {trained.get('broken')}",
            f"as-is: {observed['as_is_equals_bare']}",
            f"{observed['seconds']} s",
        ]
    )


if __name__ == "__main__":
    main()
