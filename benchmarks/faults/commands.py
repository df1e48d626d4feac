"""Run Deviate where something is wrong, and count tracebacks, wrong exit statuses, slow answers and lost runs.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/commands.py [--only WORD] [--disk N] > commands.json

Each case is a real command in a project of its own. It must end within its time and memory, with an exit status of the
contract and without a traceback. After the cases of a full disk and of a folder that becomes read-only the cause is
taken away, and the same command must then complete all runs; these need the right to mount, and are left out without.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRAIN = """\
import random, time
for epoch in range(3):
    time.sleep({pause})
    loss = random.random()
    print(f"epoch {{epoch}} loss {{loss:.4f}}")
"""

#: Seconds and bytes that a command may take.
SECONDS = 60
MEMORY = 4 << 30

RUN = f"run -n 2 -- {shlex.quote(sys.executable)} train.py"

#: Written by hand where a command reads stored results.
TABLE = "seed,acc\n" + "".join(f"{seed},{0.9 + seed / 100}\n" for seed in range(6))


@dataclass(frozen=True)
class Case:
    """A command where something is wrong."""

    group: str
    name: str
    #: Words of ``deviate`` with what the shell does to them.
    words: str
    #: Makes what is wrong, in the project's folder.
    harm: Callable[[Path], object] = lambda project: None
    #: Exit statuses that are right.
    statuses: tuple[int, ...] = (2,)
    #: A first ``deviate run`` comes before the harm.
    after_run: bool = False


def main() -> None:
    """Run the cases, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="groups whose name holds this word")
    parser.add_argument("--disk", type=int, default=20, help="sizes of the full disk")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        rows += [run_case(base / str(index), case) for index, case in enumerate(cases()) if options.only in case.group]
        if can_mount(base) and options.only in "full disk, read-only":
            rows += [full_disk(base / f"disk{index}", 24 + 24 * index) for index in range(options.disk)]
            rows += [read_only(base / f"ro{index}", 0.3 + 0.4 * index) for index in range(max(1, options.disk // 4))]
    print_table(rows)
    print(json.dumps({**vars(options), "rows": rows}))
    sys.exit(any(row["problem"] for row in rows))


def cases() -> Iterator[Case]:
    """Yield the cases that need no rights."""
    reading = ["list", "show train", "report train", "report train --format json", "report train --format html",
               "extract train.py", "extract train.py --diff", "logs train 0", "plan --sd 1 --difference 1", "--help",
               "import table.csv --name t --replace", RUN]  # fmt: skip
    for words in reading:
        yield Case("output", f"{words.split(' -- ')[0]} >&-", f"{words} >&-", statuses=(0,), after_run=True)
        yield Case(
            "output", f"{words.split(' -- ')[0]} >/dev/full", f"{words} >/dev/full", statuses=(1,), after_run=True
        )
    yield Case("output", "all streams closed", f"{RUN} <&- >&- 2>&-", statuses=(0,))
    yield Case("output", "messages to a full device", f"{RUN} 2>/dev/full", statuses=(0,))
    for words in ("-n 1000000000", "-n 0", "-j 1000000000", "--until 'loss ±1%' --max 1000000000", "--timeout nan"):
        yield Case("numbers", words, f"run {words} -- {shlex.quote(sys.executable)} train.py")
    yield from project_cases()
    yield from workspace_cases()
    yield from import_cases()


def project_cases() -> Iterator[Case]:
    """Yield the cases of odd files in the project."""
    yield Case("project", "links to themselves", RUN, self_links, (0,))
    yield Case("project", "named pipe", RUN, lambda project: os.mkfifo(project / "conf.yaml"), (0,))
    yield Case("project", "files of 1 GiB without content", RUN, sparse_files, (0,))
    yield Case("project", "20,000 files", RUN, many_files, (0,))
    excluded = RUN.replace("run ", "run --exclude train.py ")
    yield Case("project", "excluded entry", excluded)
    yield Case("project", "deep expression", RUN, lambda project: append(project, "\nx = " + "+".join("1" * 100_000)))
    yield Case("project", "entry in bytes of no encoding", RUN, lambda project: append(project, b"\n# \xff\xfe\n"),
               (1,))  # fmt: skip
    yield Case("project", "settings of no encoding", RUN, lambda project: write(project / "deviate.toml", b"\xff"))
    yield Case("project", "settings are a folder", RUN, lambda project: (project / "deviate.toml").mkdir())


def workspace_cases() -> Iterator[Case]:
    """Yield the cases of a workspace that is not as it was."""
    more = RUN.replace("-n 2", "-n 3")
    yield Case("workspace", "a file in its place", RUN, lambda project: write(project / ".deviate", b""))
    yield Case("workspace", "a link to itself", RUN, lambda project: (project / ".deviate").symlink_to(".deviate"))
    for name, words, statuses in (("runs are added", more, (2,)), ("report", "report train", (0,))):
        yield Case("workspace", f"deleted copy, {name}", words, lambda p: remove(p, "snapshot"), statuses, True)
        yield Case("workspace", f"deleted file of the copy, {name}", words, lambda p: remove(p, "snapshot/train.py"),
                   statuses, True)  # fmt: skip
        yield Case("workspace", f"deleted runs, {name}", words, lambda p: remove(p, "runs"), (0,), True)
        yield Case(
            "workspace", f"deleted snapshot.json, {name}", words, lambda p: remove(p, "snapshot.json"), (2,), True
        )
        yield Case("workspace", f"stored file of no encoding, {name}", words,
                   lambda p: write(p / ".deviate/experiments/train/experiment.json", b"\xff"), (2,), True)  # fmt: skip


def import_cases() -> Iterator[Case]:
    """Yield the cases of hostile files to import."""
    hostile: dict[str, tuple[str, str, Callable[[Path], object]]] = {
        "JSON of 100,000 lists": ("a.json", "", lambda p: write(p, b"[" * 10**5 + b"]" * 10**5)),
        "JSON of 100,000 objects": ("a.json", "", lambda p: write(p, b'{"a":' * 10**5 + b"1" + b"}" * 10**5)),
        "JSON 900 deep": ("a.json", "", lambda p: write(p, b'[{"a":' + b'{"a":' * 900 + b"1" + b"}" * 901 + b"]")),
        "JSON number of 5,000 digits": ("a.json", "", lambda p: write(p, b'[{"acc": ' + b"9" * 5000 + b"}]")),
        "line of 160 kB, repeated words": ("a.log", "epoch {epoch} ... acc {acc} ... loss {loss}",
                                           lambda p: write(p, b"epoch 1 acc " * 13_000)),
        "line of 160 kB, digits": ("a.log", "{epoch} ... {acc} ... loss {loss}", lambda p: write(p, b"1" * 160_000)),
        "line of 160 kB, blanks": ("a.log", "a {x} b", lambda p: write(p, b" " * 160_000)),
        "pattern of nested repeats": ("a.log", "(?P<acc>(a+)+)b", lambda p: write(p, b"a" * 40)),
        "log of 1 GiB without content": ("a.log", "a {x}", lambda p: sparse(p)),
        "table of 1 GiB without content": ("a.csv", "", lambda p: sparse(p)),
        "JSON of 1 GiB without content": ("a.json", "", lambda p: sparse(p)),
        "events of 1 GiB without content": ("events.out.tfevents.1", "", lambda p: sparse(p)),
        "wandb of 1 GiB without content": ("run-a.wandb", "", lambda p: sparse(p)),
        "20,000 columns": ("a.csv", "", lambda p: write(p, wide(20_000))),
        "2,000 columns": ("a.csv", "", lambda p: write(p, wide(2_000))),
        "cell of 200,000 digits": ("a.csv", "", lambda p: write(p, b"seed,acc\n1," + b"9" * 200_000 + b"\n2,1\n")),
        "quote that never ends": ("a.csv", "", lambda p: write(p, b'seed,acc\n1,"' + b"9" * 200_000 + b"\n2,1\n")),
        "zero bytes": ("a.csv", "", lambda p: write(p, b"\0" * 1000)),
        "empty": ("a.json", "", lambda p: write(p, b"")),
        "a folder": ("a.csv", "", lambda p: p.mkdir()),
        "a link to itself": ("a.csv", "", lambda p: p.symlink_to(p.name)),
    }  # fmt: skip
    for name, (file, pattern, make) in hostile.items():
        option = f" --pattern {shlex.quote(pattern)}" if pattern else ""
        yield Case("import", name, f"import {file}{option}", lambda project, m=make, f=file: m(project / f))  # type: ignore[misc]


def run_case(project: Path, case: Case) -> dict[str, Any]:
    """Run one case in a project of its own."""
    make_project(project)
    if case.after_run:
        deviate(project, RUN)
    case.harm(project)
    found = deviate(project, case.words)
    problem = "" if found["status"] in case.statuses else f"status {found['status']}, not {case.statuses}"
    return {"group": case.group, "name": case.name, **found, "problem": found["problem"] or problem}


def full_disk(project: Path, kibibytes: int) -> dict[str, Any]:
    """Run on a disk of that size, then on a larger one: then all runs must complete."""
    with mounted(project, f"size={kibibytes}k"):
        make_project(project)
        found = deviate(project, RUN)
        subprocess.run(["mount", "-o", "remount,size=64m", str(project)], check=True)
        return {
            "group": "full disk",
            "name": f"{kibibytes} KiB",
            **found,
            "problem": found["problem"] or again(project),
        }


def read_only(project: Path, seconds: float) -> dict[str, Any]:
    """Make the experiments read-only in the middle of the runs, then writable again: then all runs must complete."""
    make_project(project, pause=0.2)
    folder = project / ".deviate" / "experiments"
    folder.mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    try:
        process = start(project, RUN)
        time.sleep(1 + seconds)
        # The system refuses while a file is open for writing there: try until a moment comes when none is.
        while (
            process.poll() is None
            and subprocess.run(
                ["mount", "-o", "remount,bind,ro", str(folder)], check=False, capture_output=True
            ).returncode
        ):
            time.sleep(0.01)
        found = ended(process, time.perf_counter())
    finally:
        subprocess.run(["mount", "-o", "remount,bind,rw", str(folder)], check=False)
        subprocess.run(["umount", "-l", str(folder)], check=True)
    name = f"after {1 + seconds:.1f} s"
    return {"group": "read-only", "name": name, **found, "problem": found["problem"] or again(project)}


def again(project: Path) -> str:
    """Type the same command once more, where nothing is wrong; return what is wrong all the same."""
    found = deviate(project, RUN.replace("run ", "run --retry-failed ") + " >/dev/null")
    if found["problem"] or found["status"]:
        return f"the same command afterwards: {found['problem'] or found['message']}"
    listed = subprocess.run(tool("list --json"), cwd=project, shell=True, capture_output=True, text=True, check=True)
    (experiment,) = json.loads(listed.stdout)["experiments"]
    return "" if set(experiment["completed"].values()) == {2} else f"completed: {experiment['completed']}"


def deviate(project: Path, words: str) -> dict[str, Any]:
    """Run the tool in a shell; return its status, its time, its last error and whether it was as it must not be."""
    began = time.perf_counter()
    return ended(start(project, words), began)


def start(project: Path, words: str) -> subprocess.Popen[str]:
    """Start the tool with a limit of memory."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    return subprocess.Popen(
        tool(words), cwd=project, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=limited,
    )  # fmt: skip


def tool(words: str) -> str:
    """Return the line of a shell that runs the tool."""
    return f"exec {shlex.quote(sys.executable)} -m deviate {words}"


def ended(process: subprocess.Popen[str], began: float) -> dict[str, Any]:
    """Wait for the tool; return what `deviate` does."""
    problem = ""
    try:
        _, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
        problem = f"not ended after {SECONDS} s"
    if "Traceback" in errors or "Error ignored" in errors:
        problem = "traceback"
    elif process.returncode not in (0, 1, 2):
        problem = problem or f"status {process.returncode}"
    elif process.returncode and not any(line.lower().startswith("error") for line in errors.splitlines()):
        problem = "no message" if "failed" not in errors else ""
    message = next((line for line in errors.splitlines() if line.startswith("error")), "")
    seconds = round(time.perf_counter() - began, 1)
    return {"status": process.returncode, "seconds": seconds, "message": message[:300], "problem": problem}


def make_project(project: Path, pause: float = 0) -> None:
    """Write the program, and a table of results."""
    project.mkdir(exist_ok=True)
    (project / "train.py").write_text(TRAIN.format(pause=pause))
    (project / "table.csv").write_text(TABLE)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a file system in memory."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def can_mount(base: Path) -> bool:
    """Tell whether this process may mount."""
    try:
        with mounted(base / "try", "size=64k"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print a row for each group, and each case that went wrong."""
    print(
        "| cases | number | status 0 | 1 | 2 | longest | problems |\n|---|---:|---:|---:|---:|---:|---:|",
        file=sys.stderr,
    )
    for group in dict.fromkeys(row["group"] for row in rows):
        of_group = [row for row in rows if row["group"] == group]
        statuses = " | ".join(str(sum(row["status"] == status for row in of_group)) for status in (0, 1, 2))
        longest, wrong = max(row["seconds"] for row in of_group), sum(bool(row["problem"]) for row in of_group)
        print(f"| {group} | {len(of_group)} | {statuses} | {longest:.1f} s | {wrong} |", file=sys.stderr)
    for row in rows:
        if row["problem"]:
            print(f"{row['group']}, {row['name']}: {row['problem']}  {row['message']}", file=sys.stderr)


def self_links(project: Path) -> None:
    """Make links that lead to themselves, up, and nowhere."""
    for name, target in (("loop", "loop"), ("a", "b"), ("b", "a"), ("up", ".."), ("gone", "/nowhere/x")):
        (project / name).symlink_to(target)


def sparse_files(project: Path) -> None:
    """Make large files that take no space."""
    for name in ("data.bin", "other.py", "conf.yaml"):
        sparse(project / name)


def many_files(project: Path) -> None:
    """Make more files than are copied one by one."""
    (project / "many").mkdir()
    for index in range(20_000):
        (project / "many" / f"{index}.txt").touch()


def sparse(path: Path) -> None:
    """Make a file of 1 GiB that takes no space."""
    with path.open("wb") as file:
        file.truncate(1 << 30)


def wide(columns: int) -> bytes:
    """Return a table of that many metrics."""
    head = ",".join(["seed", *(f"m{index}" for index in range(columns))])
    return "\n".join([head, *(",".join([str(row)] + ["1"] * columns) for row in range(3))]).encode()


def write(path: Path, data: bytes) -> None:
    """Write a file."""
    path.write_bytes(data)


def append(project: Path, text: str | bytes) -> None:
    """Add to the program."""
    with (project / "train.py").open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def remove(project: Path, name: str) -> None:
    """Remove a part of the experiment."""
    path = project / ".deviate" / "experiments" / "train" / name
    subprocess.run(["rm", "-rf", str(path)], check=True)


if __name__ == "__main__":
    main()
