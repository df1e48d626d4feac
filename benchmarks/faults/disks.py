"""Let the disk be full, or read-only, at every stage of every command that writes, and look what is lost.

Prints a table on standard error and one JSON object on standard output; it needs the right to mount::

    python benchmarks/faults/disks.py [--only WORD] > disks.json

A project with two experiments lies on a file system in memory. Full disk: so many KiB are left, for the project or for
the folder of temporary files. Read-only: the project, the experiments or the folder of the output, before the command
or in the middle of its runs. The command must end with a message, and what was stored before must read as before. Then
the cause is taken away, and the same command must do all of its work. Commands run in forks of this process, which has
imported the libraries; those whose disk is made read-only in the middle of their runs are processes of their own.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forks import forked, typed, warm
from harness import RUN, TABLE, can_mount, finish, make_project, mounted, start, values, wait

PYTHON = shlex.quote(sys.executable)

#: KiB that are left for a command; a run of these takes about 100.
LEFT = (0, 8, 32)

#: Sizes of the disk on which runs are made from nothing, in KiB.
SIZES = tuple(range(24, 129, 8))

#: Seconds after which experiments become read-only while runs go on.
MOMENTS = tuple(1.1 + 0.15 * index for index in range(12))


@dataclass(frozen=True)
class Stage:
    """A command that writes."""

    name: str
    words: str
    #: Says what is wrong with what a command wrote that ended well; empty where nothing is.
    check: Callable[[Path], str] = lambda project: ""
    #: Where it writes, below the project.
    folder: str = "."


def written(*names: str) -> Callable[[Path], str]:
    """Check that each file is there, with an end."""

    def check(project: Path) -> str:
        lacking = [name for name in names if not (project / name).is_file() or not (project / name).stat().st_size]
        return f"not written: {lacking}" if lacking else ""

    return check


def imported(name: str) -> Callable[[Path], str]:
    """Check that the table is whole in the experiment."""
    truth = {"acc": [float(line.split(",")[1]) for line in TABLE.split()[1:]]}
    return lambda project: "" if read(project, name) == truth else f"WRONG NUMBER: {read(project, name)}"


def completed(runs: int) -> Callable[[Path], str]:
    """Check that all runs of the experiment `train` have their three values."""

    def check(project: Path) -> str:
        stored = read(project, "train")["loss"]
        return "" if len(stored) == runs and None not in stored else f"runs lost: {stored}"

    return check


#: Every command that writes something, each into the project where `prepare` was.
STAGES = [
    Stage("runs are added", RUN.replace("-n 2", "-n 3"), completed(3), ".deviate/experiments"),
    Stage("runs of a new experiment", RUN.replace("--name train", "--name other"), folder=".deviate/experiments"),
    Stage("import", "import table.csv --name t", imported("t"), ".deviate/experiments"),
    Stage("import again", "import table.csv --name old --set replace=true", imported("old"), ".deviate/experiments"),
    Stage("extract --write", "extract train.py --write", written("deviate.toml")),
    Stage("audit", f"audit --quick -o out/a.md -- {PYTHON} train.py", written("out/a.md"), "out"),
    *(Stage(f"report {kind}", f"report train -o out/r.{kind}", written(f"out/r.{kind}"), "out")
      for kind in ("html", "md", "tex", "csv", "json")),
    Stage("report figures", "report train --set figures=out --set figure_format=svg -o out/r.md", written("out/r.md"),
          "out"),
    Stage("compare", "compare train old -o out/c.html --set match=loss=acc", written("out/c.html"), "out"),
    Stage("check -o j.xml", "check old --against old2 --metric acc --max-drop 1 -o out/j.xml",
          written("out/j.xml"), "out"),
    Stage("plan", "plan --set sd=1 --difference 1 -o out/p.md", written("out/p.md"), "out"),
]  # fmt: skip


def main() -> None:
    """Run the cases, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="cases whose group or name holds this word")
    options = parser.parse_args()
    warm()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        if not can_mount(base):
            sys.exit("this needs the right to mount")
        chosen = [each for each in cases() if options.only in f"{each[0]}, {each[1]}"]
        # One path for all, since experiments keep the path of their project.
        project, template = base / "project", base / "template"
        prepare(project)
        project.rename(template)
        rows = []
        for group, name, run in chosen:
            rows.append({"group": group, "name": name, **run(project, template)})
            shutil.rmtree(project)
    finish(rows, **vars(options))


def cases() -> Iterator[tuple[str, str, Callable[[Path, Path], dict[str, Any]]]]:
    """Yield group, name and what runs the case in a project, given the one to copy."""
    for stage in STAGES:
        for left in LEFT:
            yield "full disk", f"{stage.name}, {left} KiB left", lambda p, t, s=stage, n=left: full(p, t, s, n)  # type: ignore[misc]
        yield "full temporary folder", stage.name, lambda p, t, s=stage: full_temporary(p, t, s)  # type: ignore[misc]
        yield "read-only", f"{stage.name}, its folder", lambda p, t, s=stage: read_only(p, t, s, s.folder)  # type: ignore[misc]
        yield "read-only", f"{stage.name}, the project", lambda p, t, s=stage: read_only(p, t, s, ".")  # type: ignore[misc]
    for size in SIZES:
        yield "full disk", f"runs from nothing on {size} KiB", lambda p, t, n=size: from_nothing(p, n)  # type: ignore[misc]
    for moment in MOMENTS:
        yield "read-only", f"in the middle of runs, after {moment:.2f} s", lambda p, t, s=moment: in_the_middle(p, s)  # type: ignore[misc]


def prepare(project: Path) -> None:
    """Make the project with results that must stay."""
    make_project(project)
    (project / "out").mkdir()
    for words in (RUN, "import table.csv --name old", "import table.csv --name old2"):
        if problem := deviate(project, words)["problem"]:
            sys.exit(f"{words}: {problem}")


def copied(template: Path, project: Path) -> Path:
    """Copy the project that was prepared."""
    shutil.copytree(template, project, symlinks=True, dirs_exist_ok=True)
    return project


def stored(project: Path) -> dict[str, dict[str, list[float | None]]]:
    """Return all values that must stay: of a run experiment the first two runs, of the imported ones all."""
    return {
        "train": {"loss": read(project, "train")["loss"][:2]},
        "old": read(project, "old"),
        "old2": read(project, "old2"),
    }


def read(project: Path, name: str) -> dict[str, list[float | None]]:
    """Return the values that an experiment has, read in a process that ends: what reads starts threads."""
    ended = forked(lambda: print(json.dumps(values(project, name))), project, {})
    if ended.status:
        raise RuntimeError(ended.errors)
    found: dict[str, list[float | None]] = json.loads(ended.printed)
    return found


def deviate(project: Path, words: str, **environment: str) -> dict[str, Any]:
    """Type a command in a fork of this process."""
    return typed(project, shlex.split(words), environment)


def judged(
    project: Path, stage: Stage, ended: dict[str, Any], before: object, mend: Callable[[], object]
) -> dict[str, Any]:
    """Look at what is stored, take the cause away, and type the same command again."""
    problem = ended["problem"] or (stage.check(project) if ended["status"] == 0 else "")
    if not problem and stored(project) != before:
        problem = "LOST: what was stored before reads otherwise"
    mend()
    if not problem and stored(project) != before:
        problem = "LOST, and not there afterwards"
    return {**ended, "problem": problem or again(project, stage)}


def again(project: Path, stage: Stage) -> str:
    """Type the command once more, where nothing is wrong; return what is wrong all the same."""
    words = stage.words.replace("run ", "run --retry-failed ", 1) if stage.words.startswith("run ") else stage.words
    if "import table.csv --name t" in words:
        words += " --set replace=true"
    ended = deviate(project, words)
    if ended["problem"] or ended["status"]:
        return f"the same command afterwards: {ended['problem'] or ended['message']}"
    return stage.check(project)


def full(project: Path, template: Path, stage: Stage, kibibytes: int) -> dict[str, Any]:
    """Leave so many KiB on the disk."""
    with mounted(project, "size=64m"):
        before = stored(copied(template, project))
        filler = project / "filler"
        fill(filler, kibibytes)
        ended = deviate(project, stage.words)
        return judged(project, stage, ended, before, filler.unlink)


def fill(filler: Path, left: int) -> None:
    """Write until the disk is full, then give `left` KiB back."""
    with filler.open("wb", buffering=0) as file:
        for block in (1 << 20, 1 << 12):
            try:
                while file.write(bytes(block)) == block:
                    pass
            except OSError:
                continue
        file.truncate(file.tell() - (left << 10))


def full_temporary(project: Path, template: Path, stage: Stage) -> dict[str, Any]:
    """Let the folder of temporary files have no space; the project's own disk has."""
    before, folder = stored(copied(template, project)), project.with_name("temporary")
    with mounted(folder, "size=4k,nr_inodes=2"):
        (folder / "filler").write_bytes(b"x" * 4096)
        ended = deviate(project, stage.words, TMPDIR=str(folder))
    return judged(project, stage, ended, before, lambda: None)


@contextmanager
def bound(folder: Path) -> Iterator[None]:
    """Make a folder a mount of its own, so that it can be made read-only."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, mode: str) -> bool:
    """Make the mount read-only (``ro``) or writable (``rw``); the system refuses while a file is being written."""
    words = ["mount", "-o", f"remount,bind,{mode}", str(folder)]
    return not subprocess.run(words, check=False, capture_output=True).returncode


def read_only(project: Path, template: Path, stage: Stage, folder: str) -> dict[str, Any]:
    """Let a folder be read-only from before the command on."""
    before, harmed = stored(copied(template, project)), project / folder
    with bound(harmed):
        if not remount(harmed, "ro"):
            raise OSError(f"{harmed} could not be made read-only")
        ended = deviate(project, stage.words)
        return judged(project, stage, ended, before, lambda: remount(harmed, "rw"))


def in_the_middle(project: Path, seconds: float) -> dict[str, Any]:
    """Make the experiments read-only while runs go on."""
    make_project(project, pause=0.2)
    stage = Stage("runs", RUN, completed(2))
    with bound(project / ".deviate" / "experiments"):
        process = start(project, RUN)
        time.sleep(seconds)
        while process.poll() is None and not remount(project / ".deviate" / "experiments", "ro"):
            time.sleep(0.01)
        ended = wait(process, time.perf_counter())
        remount(project / ".deviate" / "experiments", "rw")
        problem = ended["problem"] or again(project, stage)
    return {**ended, "problem": problem}


def from_nothing(project: Path, kibibytes: int) -> dict[str, Any]:
    """Make a first experiment on a disk of that size, then on a larger one."""
    with mounted(project, f"size={kibibytes}k"):
        make_project(project)
        ended = deviate(project, RUN)
        subprocess.run(["mount", "-o", "remount,size=64m", str(project)], check=True)
        problem = ended["problem"] or again(project, Stage("runs", RUN, completed(2)))
    return {**ended, "problem": problem}


if __name__ == "__main__":
    main()
