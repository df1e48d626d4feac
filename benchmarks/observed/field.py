"""Try watching on public projects: `python field.py SCRATCH --mirrors FOLDER [--python PYTHON] [--project NAME ...]`.

Each project is set up as `benchmarks/control/run.py` does, run twice without Deviate and twice under it as it is. What
differs between the logs and written files of Deviate's two runs is counted by `differing`, which knows nothing of
Deviate, and looked up in what Deviate lists. Outputs stay in SCRATCH; what came of each project is in
SCRATCH/NAME/field.json. `--projects FILE` takes the projects of another file.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from differing import NO_NUMBER, Place, Printed, differing

from deviate.observe.output.files import stable_names
from deviate.observe.reported import ReportedNumber, mined_run
from deviate.observe.tables import open_tables
from deviate.observe.trackers import tracker_of
from deviate.store.folders import LOG_SUFFIXES, ExperimentFolder, RunFolder

HERE = Path(__file__).parent
CONTROL = HERE.parent / "control"
sys.path.insert(0, str(CONTROL))

from run import RUN_LIMIT_S, check_out, deviate, environment_of, start  # noqa: E402

#: Units that are brought to one (ms, us and minutes to seconds), and rates of seconds.
SCALES = (1e-3, 1e-6, 60.0)

#: What became of a place at which the runs differ.
MEASURED, LISTED, NO_NUMBERS, UNSEEN = "measured", "listed", "no number", "unseen"

#: From the best to the worst.
OUTCOMES = (MEASURED, LISTED, NO_NUMBERS, UNSEEN)


class Found(NamedTuple):
    """What Deviate says of a place at which two logs differ."""

    outcome: str
    #: Metric or reason.
    said: str
    #: Whether each value is the one printed; False also where its unit was changed.
    exact: bool


def main() -> None:
    """Try each chosen project and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True, help="folder that holds OWNER+NAME/repo for each")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has what the projects import")
    parser.add_argument("--project", action="append", default=[], help="name; all by default")
    parser.add_argument(
        "--projects", type=Path, action="append", help="file that describes projects; the two beside this by default"
    )
    parser.add_argument("--again", action="store_true", help="only look again at what earlier runs left")
    chosen = parser.parse_args()
    files = chosen.projects or [CONTROL / "projects.toml", HERE / "programs.toml"]
    for project in (each for file in files for each in tomllib.loads(file.read_text())["project"]):
        if not chosen.project or project["repo"] in chosen.project:
            folder = (chosen.scratch / project["repo"].replace("/", "+").replace(" ", "")).resolve()
            if not chosen.again:
                run_project(project, chosen.mirrors, chosen.python, folder)
            if (folder / "project").exists():
                found = look(project, folder)
                (folder / "field.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
                print(row(found), flush=True)


def run_project(project: dict[str, Any], mirrors: Path, python: str, folder: Path) -> None:
    """Run a project twice bare and twice under Deviate, and keep all outputs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**environment_of(project, python), "PROGRAMS": str(HERE / "programs")}
    checkout, stands_in = folder / "checkout", project.get("folder", ".")
    checkout.mkdir()
    if "commit" in project:
        check_out(project, mirrors, checkout)
    finished = start(["bash", "-ec", project.get("setup", "")], checkout, environment, RUN_LIMIT_S)
    if finished.returncode:
        raise SystemExit(f"{project['repo']}: setup failed: {finished.stderr[-500:]}")
    words = project.get("words") or [python, *shlex.split(project["command"])]
    for index in range(2):
        copy = folder / "bare"
        shutil.copytree(checkout, copy, symlinks=True)
        with (folder / f"bare-{index}.stdout").open("wb") as out, (folder / f"bare-{index}.stderr").open("wb") as err:
            status = subprocess.call(
                ["timeout", str(RUN_LIMIT_S), *words], cwd=copy / stands_in, env=environment, stdout=out, stderr=err
            )
        shutil.rmtree(copy)
        (folder / f"bare-{index}.status").write_text(str(status))
    shutil.copytree(checkout, folder / "project", symlinks=True)
    command = ["run", "--name", "field", "-n", "2", "--vary", "as-is", "--json", "--", *words]
    finished = deviate(command, folder / "project" / stands_in, environment)
    (folder / "run.json").write_text(finished.stdout)
    (folder / "run.stderr").write_text(finished.stderr)


def look(project: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what differs between the runs of a project, and what Deviate says of it."""
    about = {"repo": project["repo"], "kind": project["kind"], "bare": _bare_statuses(folder)}
    experiments = sorted((folder / "project").rglob(".deviate/experiments/field"))
    runs = [experiments[0] / "runs" / f"as-is-{index}" for index in (0, 1)] if experiments else []
    if not runs or not all(_completed(run) for run in runs):
        return {**about, "error": (folder / "run.stderr").read_text()[-600:]}
    experiment = ExperimentFolder(experiments[0])
    with open_tables(experiment) as tables:
        numbers = tables.observation.numbers.get("as-is", [])
    places = _all_differing(experiment, numbers)
    outcomes = Counter(found.outcome for _, _, found in places)
    return {
        **about,
        "differing": len(places),
        **{outcome: outcomes[outcome] for outcome in OUTCOMES},
        "inexact": sum(not found.exact for _, _, found in places if found.outcome == MEASURED),
        "bytes": {name: compare_bytes(folder, runs, name) for name in ("stdout", "stderr")},
        "places": [
            {"source": source, "line": place.masked.decode(errors="replace")[:160], "position": place.position}
            | found._asdict()
            for source, place, found in places
        ],
        "metrics": sorted({each.metric for each in numbers if each.metric}),
        "observed": sorted({each.metric for each in numbers if each.observed}),
    }


def _completed(run: Path) -> bool:
    outcome = run / "outcome.json"
    return outcome.exists() and msgspec.json.decode(outcome.read_bytes())["status"] == "completed"


def _bare_statuses(folder: Path) -> list[int]:
    return [int((folder / f"bare-{index}.status").read_text()) for index in (0, 1)]


class Listed:
    """The numbers of a run's text as Deviate mined them, by source."""

    def __init__(self, path: Any, said: dict[tuple[str, str, int], ReportedNumber], texts: dict[str, bytes]) -> None:
        self.at: dict[str, dict[int, list[tuple[float, ReportedNumber]]]] = {}
        for each in mined_run(path).series:
            slot = each.series.slot
            lines = self.at.setdefault(slot.source, defaultdict(list))
            text = texts.get(slot.source, b"")
            for value, offset in zip(each.series.values, each.series.offsets, strict=True):
                lines[text.count(b"\n", 0, int(offset))].append((float(value), said[slot.key]))

    def near(self, source: str, line: int) -> list[tuple[float, ReportedNumber]]:
        """Return the numbers on a line; of a file whose values have no line of their own, all of them."""
        lines = self.at.get(source, {})
        whole = source not in ("stdout", "stderr") and line not in lines
        return [each for every in lines.values() for each in every] if whole else lines.get(line, [])


def _all_differing(experiment: ExperimentFolder, numbers: Sequence[ReportedNumber]) -> list[tuple[str, Place, Found]]:
    said = {each.key: each for each in numbers}
    folders = [run for run in experiment.runs() if run.run.variant == "as-is"]
    texts = [_texts(run) for run in folders]
    listed = [Listed(run, said, each) for run, each in zip(folders, texts, strict=True)]
    found = []
    for source in sorted({*texts[0], *texts[1]}, key=lambda name: (name not in ("stdout", "stderr"), name)):
        both = [placeless(each.get(source, b""), run.work) for each, run in zip(texts, folders, strict=True)]
        for place, printed in differing(*both).items():
            found.append((source, place, judge(source, printed, listed)))
    return found


def _texts(run: RunFolder) -> dict[str, bytes]:
    """Return output and written texts by the names that Deviate gives them, without the times in names of files."""
    printed = {path.stem: path.read_bytes() for path in (run.stdout_file, run.stderr_file)}
    written = [path for path in run.text_files() if path.is_relative_to(run.written)]
    texts = [path for path in written if path.suffix.lower() in LOG_SUFFIXES]
    names = stable_names(str(path.relative_to(run.written)) for path in texts)
    others = {
        str(path.relative_to(run.written)): path for path in written if path not in texts and not tracker_of(path)
    }
    by_name = {**dict(zip(names, texts, strict=True)), **others}
    return printed | {name: path.read_bytes() for name, path in by_name.items()}


def judge(source: str, printed: tuple[list[Printed], list[Printed]], listed: Sequence[Listed]) -> Found:
    """Look a place up in what Deviate lists, by line and value."""
    hits: Counter[tuple[str, str]] = Counter()
    exact = True
    for each, lists in zip(printed, listed, strict=True):
        for number in each:
            value = float(number.text)
            near = lists.near(source, number.line)
            same = [said for other, said in near if other == value or (other != other and value != value)]
            scaled = [said for other, said in near if _is_scaled(value, other)]
            exact &= bool(same)
            said = max(same or scaled, key=lambda one: (bool(one.metric), one.varies), default=None)
            hits[_outcome(number, said)] += 1
    # A place is as good as its worst value.
    (outcome, text), _ = max(hits.items(), key=lambda item: (OUTCOMES.index(item[0][0]), item[1]))
    return Found(outcome, text, exact)


def _outcome(number: Printed, said: ReportedNumber | None) -> tuple[str, str]:
    if said is None:
        return (NO_NUMBERS, "part of a time, a path or an address") if NO_NUMBER.search(number.word) else (UNSEEN, "")
    return (MEASURED, said.metric) if said.metric else (LISTED, said.reason)


def _is_scaled(value: float, other: float) -> bool:
    scaled = [value * scale for scale in SCALES] + ([1 / value] if value else [])
    return any(abs(each - other) <= 1e-9 * abs(other) for each in scaled)


def placeless(log: bytes, folder: Path) -> bytes:
    """Take the folder that a program ran in out of what it printed."""
    return log.replace(str(folder).encode(), b"FOLDER")


def compare_bytes(folder: Path, runs: Sequence[Path], name: str) -> str:
    """Say whether a run under Deviate printed what the bare program prints, byte for byte where that repeats."""
    bare = [placeless((folder / f"bare-{index}.{name}").read_bytes(), folder / "bare") for index in (0, 1)]
    under = [placeless((run / f"{name}.log").read_bytes(), run / "work/project") for run in runs]
    if not bare[0] and not under[0]:
        return "empty"
    if under[0] in bare or under[1] in bare:
        return "equal"
    if bare[0] == bare[1]:
        return "DIFFERS"
    own, across = differing(*bare), differing(bare[0], under[0])
    further = [place for place in across if place not in own]
    return "bare runs differ" if not further else f"bare runs differ; {len(further)} further"


def row(found: dict[str, Any]) -> str:
    """Return a row of the table."""
    start = f"| {found['repo']} | {', '.join(found['kind'])} | "
    if "error" in found:
        return f"{start}bare {found['bare']}: {found['error'].strip()[-200:]} |"
    counts = " | ".join(str(found[key]) for key in ("differing", *OUTCOMES, "inexact"))
    return f"{start}{counts} | {found['bytes']['stdout']} | {found['bytes']['stderr']} |"


if __name__ == "__main__":
    os.nice(10)
    main()
