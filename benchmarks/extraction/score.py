"""Score metric extraction against labelled training projects.

    python benchmarks/extraction/score.py [CHECKOUTS] [--labels FILE] [--commands] [--json FILE] [--verbose]

CHECKOUTS holds the projects as folders named owner+name, or as git directories of that name (bare or not), of which the
labelled commit is then taken out into a temporary folder. A project that is not there is cloned into it from GitHub;
without CHECKOUTS all are, into a temporary folder.
The labels beside this script hold one project per line, as JSON: ``name`` (that of its folder, and of the entry where a
project has several), ``repo``, ``commit``, ``root``, ``entry``, ``main_loop`` (a list of file and line, any of which is
right) and ``metrics`` (file, variable, exprs, lines, function, level ``core`` or ``optional``, aliases, via). They were
made by reading the projects. ``labels/written_on.jsonl`` has projects that the analysis was written on, the
``labels/first_sight*.jsonl`` those that it met when they were labelled.

Without ``--commands`` any option may be given; with it, the options of the labelled command are known, as they are to
``deviate run -- COMMAND``.

A metric counts as found when one that is reported stands at a labelled place (the lines, or the function) and shares a
name with the label: the variable, or a variable of the expression. A label with ``via`` is also found where the mapping
it is stored in, by its key, is reported from one of those places. One that matches no label is false; optional labels
count neither as missed nor as false.
"""

from __future__ import annotations

import argparse
import ast
import json
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from deviate.core.errors import DeviateError
from deviate.core.experiment import Findings, Metric
from deviate.source.analysis import analyse_project

LABELS = Path(__file__).parent / "labels" / "written_on.jsonl"

#: A report may stand so many lines below the line that its label names.
LINES_BELOW = 12
#: A report of a mapping may stand so many lines away from the place that a label names.
LINES_AWAY = 3


@dataclass
class Score:
    """What was found in one project."""

    name: str
    core: int = 0
    reported: int = 0
    loop: bool = False
    seconds: float = 0.0
    error: str = ""
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)


def names_in(text: str) -> set[str]:
    """Names by which an expression may be known: itself, its variables, attributes, items and called functions."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return {squeeze(text)}
    found = {squeeze(text)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            found.add(squeeze(ast.unparse(node)))
        elif isinstance(node, ast.Call):
            found.add(squeeze(ast.unparse(node.func)) + "()")
    return found


def squeeze(text: str) -> str:
    """Drop white space and the kind of quotes."""
    return "".join(text.split()).replace('"', "'")


def stands_at(metric: Metric, label: dict[str, Any]) -> bool:
    """Whether a reported metric stands where a label says."""
    if metric.file != label["file"]:
        return False
    near = any(at <= metric.line <= at + LINES_BELOW or metric.line <= at <= metric.end_line for at in label["lines"])
    return near or metric.function == label.get("function")


def match(metric: Metric, labels: list[dict[str, Any]]) -> list[int]:
    """Return the labels a reported metric answers, those of the same variable alone where there are any."""
    names = names_in(metric.variable) | names_in(metric.expression)
    # What a framework logs is labelled as `fit:accuracy`, and its other names as they are logged: `acc`.
    names |= {metric.variable.removeprefix("fit:")}
    wanted = [{squeeze(label["variable"]), *map(squeeze, label.get("aliases") or [])} for label in labels]
    near = [at for at, label in enumerate(labels) if stands_at(metric, label)]
    # Where no name of a label is the metric's, the label's spellings of the value tell: ``100. * correct / total``.
    hits = [at for at in near if names & wanted[at]] or [at for at in near if names & spelled(labels[at])]
    exact = [at for at in hits if squeeze(metric.variable) in wanted[at]]
    # A count that an accuracy is computed of, optional by itself, does not answer in the place of the accuracy.
    exact = exact if any(labels[at]["level"] == "core" for at in exact) else hits
    return [*exact, *(at for at, label in enumerate(labels) if is_item_of(metric, label) and at not in exact)]


def spelled(label: dict[str, Any]) -> set[str]:
    """Return the spellings of a labelled value, as Python writes them."""
    return {text for each in label.get("exprs") or [] for text in (squeeze(each), written(each))}


def written(text: str) -> str:
    """Return an expression as Python writes it, ``100.0`` for ``100.``, without its spaces."""
    try:
        return squeeze(ast.unparse(ast.parse(text.strip(), mode="eval")))
    except SyntaxError:
        return squeeze(text)


def is_item_of(metric: Metric, label: dict[str, Any]) -> bool:
    """Whether a metric is the report of a mapping that holds what a label names."""
    places = [place.rpartition(":") for place in label.get("via", [])]
    return any(metric.file == file and abs(metric.line - int(line)) <= LINES_AWAY for file, _, line in places)


def score(name: str, label: dict[str, Any], found: Findings) -> Score:
    """Compare what was found with the labels of a project."""
    labels = label["metrics"]
    chosen = [metric for metric in found.metrics if metric.selected]
    answers = [(metric, match(metric, labels)) for metric in chosen]
    taken = {at for _, hits in answers for at in hits}
    core = [at for at, one in enumerate(labels) if one["level"] == "core"]
    loops = {(one["file"], one["line"]) for one in label["main_loop"]}
    return Score(
        name=name, core=len(core), reported=len(chosen),
        loop=found.main_loop is not None and (found.main_loop.file, found.main_loop.line) in loops,
        missed=[
            f"{labels[at]['file']}:{labels[at]['lines']} {labels[at]['variable']}" for at in core if at not in taken
        ],
        false=[f"{one.file}:{one.line} {one.variable} ({one.name})" for one, hits in answers if not hits],
    )  # fmt: skip


def checkout(repo: str, commit: str, folder: Path, scratch: Path) -> Path:
    """Return the folder of a project, taken out of its git directory where it is not checked out."""
    here = folder / repo.replace("/", "+")
    if not here.exists():
        command = ["git", "clone", "--quiet", "--bare", "--filter=blob:none", f"https://github.com/{repo}", str(here)]
        subprocess.run(command, check=True)
    if here.is_dir() and not (here / "HEAD").is_file():
        return here
    target = scratch / here.name
    archive = subprocess.run(["git", "-C", str(here), "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as packed:
        packed.extractall(target, filter="data")
    return target


def anchored(label: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return a label in which files outside its root have the paths that an analysis gives them: absolute ones."""

    def absolute(file: str) -> str:
        return (root / file).resolve().as_posix() if file.startswith("../") else file

    entries = {
        key: [
            {**each, "file": absolute(each["file"]), "via": list(map(absolute, each.get("via", [])))}
            for each in label[key]
        ]
        for key in ("main_loop", "metrics")
    }
    return {**label, **entries}


def arguments_of(label: dict[str, Any]) -> list[str]:
    """Return the words of the labelled command after its script or module."""
    words = shlex.split(label["command"], comments=True)
    script = Path(label["entry"])
    module = ".".join(script.with_suffix("").parts).removesuffix(".__main__")
    starts = [at for at, word in enumerate(words) if Path(word).name == script.name or word == module]
    return words[starts[0] + 1 :] if starts else []


def run(labels: Path, folder: Path, commands: bool) -> list[Score]:
    """Analyse and score every labelled project, with the options of its command or without."""
    scores = []
    with tempfile.TemporaryDirectory() as scratch:
        for label in map(json.loads, labels.read_text(encoding="utf-8").splitlines()):
            began = time.perf_counter()
            try:
                root = checkout(label["repo"], label["commit"], folder, Path(scratch)) / label["root"]
                words = arguments_of(label) if commands else None
                found = analyse_project(root, Path(label["entry"]), arguments=words)
                one = score(label["name"], anchored(label, root), found)
            except (DeviateError, OSError, subprocess.CalledProcessError) as problem:
                core = sum(metric["level"] == "core" for metric in label["metrics"])
                one = Score(label["name"], core=core, error=str(problem), missed=["everything"] * core)
            one.seconds = time.perf_counter() - began
            scores.append(one)
    return scores


def summary(scores: list[Score]) -> dict[str, Any]:
    """Return the figures over all projects; a share of nothing is null."""
    core, reported = sum(one.core for one in scores), sum(one.reported for one in scores)
    missed, false = sum(len(one.missed) for one in scores), sum(len(one.false) for one in scores)
    return {
        "projects": len(scores),
        "errors": sum(bool(one.error) for one in scores),
        "main_loop": sum(one.loop for one in scores) / len(scores) if scores else None,
        "core_recall": 1 - missed / core if core else None,
        "precision": 1 - false / reported if reported else None,
        "core": core,
        "reported": reported,
        "missed": [f"{one.name}: {text}" for one in scores for text in one.missed],
        "false": [f"{one.name}: {text}" for one in scores for text in one.false],
        "seconds": round(sum(one.seconds for one in scores), 2),
    }


def table(scores: list[Score], verbose: bool) -> str:
    """Lay the scores out as a Markdown table."""
    rows = ["| project | main loop | core found | false / reported | seconds |", "|---|---|---|---|---|"]
    for one in scores:
        found = one.core - len(one.missed)
        loop = one.error or ("yes" if one.loop else "no")
        rows.append(
            f"| {one.name} | {loop} | {found} / {one.core} | {len(one.false)} / {one.reported} | {one.seconds:.2f} |"
        )
    if verbose:
        rows.extend(f"missed {one.name}: {text}" for one in scores for text in one.missed)
        rows.extend(f"false {one.name}: {text}" for one in scores for text in one.false)
    return "\n".join(rows)


def main() -> int:
    """Print the table on standard error and one JSON object on standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="?")
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--commands", action="store_true", help="with the options of the labelled commands")
    parser.add_argument("--json", type=Path, help="also write the JSON object to this file")
    parser.add_argument("--verbose", action="store_true", help="list every miss and every false report")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scores = run(options.labels, options.checkouts or Path(scratch), options.commands)
    print(table(scores, options.verbose), file=sys.stderr)
    result = summary(scores)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(json.dumps(result))
    return 1 if result["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
