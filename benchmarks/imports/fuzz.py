"""Import thousands of odd and malformed tables, and look what becomes of each.

    python benchmarks/imports/fuzz.py [--tables 2000] [--seed 0] > fuzz.json

A table is made from parts by a generator with a seed: comma, tab, JSON lines, JSON, YAML, arrays of NumPy, packed by
gzip or not; with heads twice, ragged rows, huge counts, NaN and infinities, surrogates, deep nests, stray bytes. Each
is imported by the function of the command in a process with a limit of memory, which is started anew where one ends.
Accepted or refused with a reason is right; anything else raised, a file outside of the workspace, a minute of processor
time or 1 GB of memory are not.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import multiprocessing
import random
import resource
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

MOST_MEMORY = 1 << 30
MOST_SECONDS = 60.0

NAMES = ["run", "seed", "epoch", "step", "loss", "acc", "val acc", "metric", "value", "fold", "model", "", "lo\ud800ss",
         "é" * 3, "a" * 300, "params.lr", "time", "split", "run", "\u202eabc", "../x", "__proto__"]  # fmt: skip
CELLS = ["0", "1", "2", "0.5", "nan", "inf", "-inf", "1e400", "-1e308", "5e-324", "", "x", "1,5", "97%", "1" * 500,
         "-1", "2147483648", "\ud83d", "\x00", '"', "null", "0x10", "1_000", "９", " 3 ", "../../etc"]  # fmt: skip


def odd_value(draw: random.Random, depth: int = 0) -> object:
    """Return a value of JSON, nested a little or very deeply."""
    if depth < 3 and draw.random() < 0.2:
        return {draw.choice(NAMES): odd_value(draw, depth + 1) for _ in range(draw.randint(0, 3))}
    if depth < 3 and draw.random() < 0.2:
        return [odd_value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    return draw.choice([0, 1, -1, 0.5, None, True, "x", "0.5", 10**30, float("nan"), float("inf"), "\udcff", ""])


def rows_of(draw: random.Random) -> list[dict[str, object]]:
    """Return rows, most of them with a run, an iteration and a value."""
    odd = draw.choice([0, 0, 1, 2, 5])
    names = ["run", "epoch", *draw.sample(NAMES, odd), "loss"][draw.choice([0, 0, 0, 1, 2]) :]
    count = draw.choice([0, 1, 2, 3, 8, 8, 8, 30, 300])
    share = draw.choice([0, 0, 0.05, 0.5])
    rows = [{name: odd_value(draw) if draw.random() < share else draw.random() for name in names} for _ in range(count)]
    for number, row in enumerate(rows):
        if draw.random() < 1 - share / 4:
            row.update({"run": number // 4, "epoch": number % 4} if "run" in names else {})
    return rows


def separated(draw: random.Random, mark: str) -> bytes:
    """Return a table of text: heads twice, rows of any length, quotes that do not end."""
    width = draw.choice([0, 1, 2, 3, 4, 4, 4, 4, 5, 6, 20, 6000])
    share = draw.choice([0, 0, 0.02, 0.3])
    head = ["run", "epoch", "loss", "acc"][:width] + [draw.choice(NAMES) for _ in range(max(0, width - 4))]
    rows = [head] * draw.choice([0, 1, 1, 1, 1, 1, 1, 2])
    for number in range(draw.choice([0, 1, 2, 9, 40, 2500])):
        row = [str(number // 3), str(number % 3), f"{draw.random():.4f}", "0.5"][:width]
        row += [draw.choice(CELLS) for _ in range(max(0, min(width, 30) - 4))]
        if draw.random() < share:
            row = [draw.choice(CELLS) for _ in range(draw.randint(0, 8))]
        rows.append(row)
    end = draw.choice(["\n", "\n", "\r\n", "\r"])
    return end.join(mark.join(row) for row in rows).encode("utf-8", draw.choice(["replace", "surrogatepass"]))


def nested(draw: random.Random) -> bytes:
    """Return a nest that is deep."""
    depth = draw.choice([50, 900, 5_000, 200_000])
    start, end = draw.choice([(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
    return start * depth + b"1" + end * depth


def dumped(draw: random.Random, lines: bool) -> bytes:
    """Return JSON of rows, of columns, of a nest, or torn."""
    if draw.random() < 0.1:
        return nested(draw)
    rows = rows_of(draw)
    if lines:
        text = "\n".join(map(json.dumps, rows))
    else:
        shape = draw.randint(0, 3)
        columns = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else {})}
        text = json.dumps([rows, {"log_history": rows}, columns, odd_value(draw)][shape])
    text = text[: draw.randint(0, len(text))] if draw.random() < 0.1 else text
    return text.encode()


def array(draw: random.Random) -> bytes:
    """Return an array, or a head that claims one."""
    file = io.BytesIO()
    if draw.random() < 0.5:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (draw.choice([3, 10**6, 10**12]),)}
        )
        return file.getvalue()
    if draw.random() < 0.5:
        np.save(file, np.random.default_rng(draw.randrange(99)).random((3, 3)))
    else:
        np.savez(file, loss=np.zeros(3))
    return file.getvalue()


MAKERS = {
    "csv": lambda draw: separated(draw, ","), "tsv": lambda draw: separated(draw, "\t"),
    "json": lambda draw: dumped(draw, False), "jsonl": lambda draw: dumped(draw, True),
    "yaml": lambda draw: b"runs:\n" + b"".join(b"- {loss: %d}\n" % n for n in range(draw.randint(0, 9))),
    "npy": array, "npz": array,
}  # fmt: skip


def table(seed: int) -> tuple[str, bytes]:
    """Return name and content of the table of a seed."""
    draw = random.Random(seed)
    kind = draw.choice([*MAKERS, "csv", "json", "jsonl"])
    data = MAKERS[kind](draw)
    if draw.random() < 0.15 and data:
        place = draw.randrange(len(data))
        data = data[:place] + draw.randbytes(draw.randint(1, 20)) + data[place:]
    if draw.random() < 0.02:
        data = data * (20_000_000 // max(1, len(data)))
    name = draw.choice(["a", "a b", "é", "a" * 200, "-x", "a'b"]) + "." + kind
    return (name + ".gz", gzip.compress(data, 1)) if draw.random() < 0.1 else (name, data)


def import_one(home: Path, seed: int) -> tuple[str, str]:
    """Import a table; return what became of it and of which kind it was."""
    from deviate.errors import DeviateError
    from deviate.importing.import_results import import_results
    from deviate.importing.request import ImportRequest

    project = home / "project"
    shutil.rmtree(home, ignore_errors=True)
    project.mkdir(parents=True)
    name, data = table(seed)
    (project / name).write_bytes(data)
    kind = random.Random(seed).choice([None, None, None, "csv", "json"])
    try:
        import_results(ImportRequest(paths=[project / name], project=project, format=kind, command=["deviate"]))
        outcome = "imported"
    except DeviateError as problem:
        outcome = "refused" if problem.hint else "refused without a hint"
    except BaseException as problem:
        outcome = f"raised {type(problem).__name__}: {problem}"[:200]
    written = {path.name for path in (*home.iterdir(), *project.iterdir())}
    return (outcome if written <= {"project", name, ".deviate"} else f"wrote {written}"), name.partition(".")[2]


def work(pipe: multiprocessing.connection.Connection, home: Path) -> None:
    """Import what comes through the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    while True:
        seed = pipe.recv()
        began = time.process_time()
        outcome, kind = import_one(home, seed)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        pipe.send((outcome, kind, time.process_time() - began, memory))


def main() -> None:
    """Import the tables; print the figures as JSON, and a table to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    outcomes: dict[str, Counter[str]] = {}
    wrong: list[dict[str, object]] = []
    slowest = largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        ours = process = None
        for seed in range(options.seed, options.seed + options.tables):
            if process is None or not process.is_alive():
                ours, theirs = context.Pipe()
                process = context.Process(target=work, args=(theirs, Path(folder) / "home"), daemon=True)
                process.start()
                theirs.close()
            ours.send(seed)
            if ours.poll(MOST_SECONDS * 5):
                try:
                    outcome, kind, seconds, memory = ours.recv()
                except EOFError:
                    outcome, kind, seconds, memory = "ended the process", "", 0.0, 0
            else:
                process.kill()
                process.join()
                outcome, kind, seconds, memory = "no end", "", MOST_SECONDS * 5, 0
            slowest, largest = max(slowest, seconds), max(largest, memory)
            outcomes.setdefault(kind, Counter())[outcome.partition(":")[0]] += 1
            if outcome not in ("imported", "refused") or seconds > MOST_SECONDS or memory > MOST_MEMORY:
                wrong.append({"seed": seed, "outcome": outcome, "seconds": round(seconds, 1), "memory": memory})
        if process is not None:
            process.kill()
    result = {
        "tables": options.tables, "first_seed": options.seed, "wrong": wrong, "slowest_s": round(slowest, 2),
        "largest_mib": round(largest / (1 << 20)), "outcomes": {kind: dict(count) for kind, count in outcomes.items()},
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    print_table(outcomes)


def print_table(outcomes: dict[str, Counter[str]]) -> None:
    """Print how many tables of each kind were imported and refused."""
    import sys

    print("| kind | imported | refused | other |\n|---|---|---|---|", file=sys.stderr)
    for kind, count in sorted(outcomes.items()):
        other = sum(count.values()) - count["imported"] - count["refused"]
        print(f"| {kind} | {count['imported']} | {count['refused']} | {other} |", file=sys.stderr)


if __name__ == "__main__":
    main()
