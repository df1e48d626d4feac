"""Kill a worker while it brings a run back from the disk of its machine, fill disks, and look what is lost.

    python benchmarks/faults/scratch.py [--times 40] [--seed 0] > scratch.json

Prints a table on standard error and one JSON object on standard output; filling disks needs the right to mount. A run
with ``scratch`` is handed over; its worker is killed before one of its calls to the file system, chosen at random
among those that it makes from the first file that it brings on. Then the run must not be done, or be whole; the next
worker must make it whole, and the next run must leave nothing on the disk. On a disk of so many KiB the run must
complete all the same, in its own folder. Where the experiment's disk is full it must not be done, and complete when
there is room again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forks import Ended, forked, warm
from harness import can_mount, deviate, finish, mounted
from housekeeping import CALLS

from deviate.core.experiment import Run
from deviate.runs import worker
from deviate.runs.lease import acquire
from deviate.runs.scratch import Scratch, opened
from deviate.store.folders import RunFolder, Workspace
from deviate.store.integrity import damage
from deviate.store.run_files import Completed

#: Writes some files into folders of their own, a link and a large file, about 300 KiB in all.
TRAIN = """\
import os
for epoch in range(3):
    loss = 1 / (epoch + 1)
    print(f"epoch {epoch} loss {loss:.4f}")
    os.makedirs(f"saved/{epoch}")
    for part in range(4):
        with open(f"saved/{epoch}/{part}", "w") as file:
            file.write(f"{epoch} {part}" * 5000)
os.symlink(os.path.abspath("saved/2/0"), "best")
"""

#: Sizes of the disk of the machine, and what is left on that of the experiment, in KiB.
SIZES = (4, 16, 48, 128, 512, 2048)
LEFT = (0, 64, 160)


def main() -> None:
    """Make the rounds, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=40, help="kills")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, rows = random.Random(options.seed), []
    warm()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        template, scratch = make(base / "project", base / "scratch"), base / "scratch"
        project = base / "project"
        counted = base / "calls"
        ended = forked(lambda: bringing(the_run(project), lambda number: None, counted), project, {})
        truth = made(the_run(project))
        if ended.status or not truth:
            sys.exit(f"the run fails without any kill: {ended.errors}")
        calls = int(counted.read_text())
        print(f"{calls} calls, {len(truth)} files", file=sys.stderr)
        for _ in range(options.times):
            fresh(project, template)
            call = rng.randint(1, calls)
            rows.append({"group": "killed", "name": str(call), **killed(project, scratch, call, truth)})
        if can_mount(base):
            for size in SIZES:
                fresh(project, template)
                rows.append(
                    {"group": "small disk of the machine", "name": str(size), **small(project, scratch, size, truth)}
                )
            for left in LEFT:
                rows.append(
                    {"group": "full disk of the experiment", "name": str(left), **full(project, template, left, truth)}
                )
    finish(rows, **vars(options), calls=calls)


def make(project: Path, scratch: Path) -> Path:
    """Make a project whose run is handed over; return a copy of it."""
    project.mkdir()
    scratch.mkdir()
    (project / "train.py").write_text(TRAIN)
    words = (
        f"run -n 1 --name e --vary control --executor slurm --set scratch={scratch} --print "
        f"-- {sys.executable} train.py"
    )
    if deviate(project, words)["status"]:
        sys.exit("the run was not handed over")
    template = project.with_name("template")
    shutil.copytree(project, template, symlinks=True)
    return template


def fresh(project: Path, template: Path) -> None:
    """Make the project anew."""
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(template, project, symlinks=True)


def the_run(project: Path) -> RunFolder:
    """Return the run that is handed over."""
    (run,) = Workspace(project).experiment("e").runs()
    return run


def bringing(run: RunFolder, each: Callable[[int], None], counted: Path | None = None) -> None:
    """Be its worker, and call a function before each call to the file system from the first file brought on."""
    number, bring = 0, Scratch.bring

    def hook(event: str, arguments: object) -> None:
        nonlocal number
        if event in CALLS and number:
            each(number)
            number += 1

    def watched(self: Scratch, folder: RunFolder, *, work: bool) -> RunFolder:
        nonlocal number
        number = number or 1
        return bring(self, folder, work=work)

    Scratch.bring = watched  # type: ignore[method-assign]
    sys.argv = ["deviate-worker", str(run.path)]
    sys.addaudithook(hook)
    status = worker.main()
    if counted is not None:
        counted.write_text(str(number - 1))
    sys.exit(status)


def work(project: Path) -> Ended:
    """Be the worker of the run."""
    return forked(lambda: bringing(the_run(project), lambda number: None), project, {})


def made(run: RunFolder) -> dict[str, Any]:
    """Return what a completed run has: what it recorded and printed, and the files that it saved."""
    if not isinstance(outcome := run.read_outcome(), Completed) or damage(run, outcome):
        return {}
    (copy,) = run.work.iterdir()
    files = {str(path.relative_to(copy)): path.read_text() for path in [*copy.glob("saved/*/*"), copy / "best"]}
    return {**files, "stdout": run.stdout_file.read_text(), "records": len(run.record_files()),
            "leads": str((copy / "best").readlink().relative_to(run.path))}  # fmt: skip


def killed(project: Path, scratch: Path, call: int, truth: dict[str, Any]) -> dict[str, Any]:
    """Kill the worker, look, and be the next one."""
    began = time.monotonic()

    def kill(number: int) -> None:
        if number == call:
            os.kill(os.getpid(), signal.SIGKILL)

    run = the_run(project)
    first = forked(lambda: bringing(run, kill), project, {})
    problem = "" if first.status == -signal.SIGKILL else f"not killed: {first.status} {first.errors}"
    problem = problem or ("done, and not whole" if run.is_done and made(run) != truth else "")
    return judged(project, scratch, truth, problem, began)


def judged(project: Path, scratch: Path, truth: dict[str, Any], problem: str, began: float) -> dict[str, Any]:
    """Be the next worker, and look what there is."""
    again = work(project)
    problem = problem or (f"the next worker: {again.errors}" if again.status else "")
    problem = problem or ("not whole" if made(the_run(project)) != truth else "")
    # Of a run that was done when its worker was killed, the next run on the machine clears the disk.
    other = Workspace(project).experiment("e").run(Run(variant="control", index=1))
    lease = acquire(other)
    with opened(str(scratch), Workspace(project).experiment("e"), other.run, lease):
        lease.release()
    left = [path.name for path in scratch.glob("deviate-*/[!.]*")]
    problem = problem or (f"left on the disk: {left}" if left else "")
    return {"status": again.status, "message": again.errors[-300:], "seconds": round(time.monotonic() - began, 1),
            "problem": problem}  # fmt: skip


def small(project: Path, scratch: Path, kibibytes: int, truth: dict[str, Any]) -> dict[str, Any]:
    """Be the worker where the disk of the machine is small."""
    began = time.monotonic()
    with mounted(scratch, f"size={kibibytes}k"):
        ended, run = work(project), the_run(project)
        outcome = run.read_outcome()
        problem = f"status {ended.status}: {ended.errors}" if ended.status else ""
        if isinstance(outcome, Completed) and made(run) != truth:
            problem = problem or "completed, and not whole"
        left = [path.name for path in scratch.glob("deviate-*/[!.]*")]
        problem = problem or (f"left on the disk: {left}" if left else "")
    said = json.dumps(
        [getattr(outcome, "status", None), getattr(outcome, "reason", ""), list(outcome.warnings if outcome else [])]
    )
    return {"status": ended.status, "message": said[:300], "seconds": round(time.monotonic() - began, 1),
            "problem": problem}  # fmt: skip


def full(project: Path, template: Path, kibibytes: int, truth: dict[str, Any]) -> dict[str, Any]:
    """Be the worker where the disk of the experiment has so many KiB left, and again when there is room."""
    began = time.monotonic()
    shutil.rmtree(project, ignore_errors=True)
    with mounted(project, "size=64m"):
        shutil.copytree(template, project, symlinks=True, dirs_exist_ok=True)
        free = shutil.disk_usage(project).free - kibibytes * 1024
        (project / "ballast").write_bytes(b"x" * max(free, 0))
        ended, run = work(project), the_run(project)
        problem = "traceback" if "Traceback" in ended.errors else ""
        problem = problem or ("done, and not whole" if run.is_done and made(run) != truth else "")
        (project / "ballast").unlink()
        row = judged(project, project.with_name("scratch"), truth, problem, began)
    return {**row, "message": ended.errors.replace("\n", "; ")[:300]}


if __name__ == "__main__":
    main()
