"""Tables, logs and stores of trackers as programs write them, most of them with something odd in it, by a seed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from stores import store

Row = dict[str, Any]
Draw = random.Random


class Case(NamedTuple):
    """What is imported."""

    kind: str
    files: dict[str, bytes]
    #: Paths that are named on the command line; a folder is one.
    paths: list[str]
    #: Fields of the request and of its options for tables.
    request: dict[str, Any]
    table: dict[str, Any]


#: Names of metrics and of other columns, good and odd ones.
METRICS = [
    "loss", "acc", "val acc", "val/f1", "train_loss", "reward", "bleu-4", "mAP@0.5", "time per step", "metrics.auc",
    "metrics.val/acc", "params.lr", "tags.user", "_runtime", "lr", "weight_decay", "fold_acc", "é" * 3, "a" * 300,
    "損失", "lo\ud800ss", "\u202eabc", "../x", "__proto__", "=1+1", "acc|<b>", "`x`", "a\nb", "a\tb", " padded ",
    "$\\alpha$", "\U0001f600", "x.y.z", "1", "0.5", "", "top 1 (%)", "{epoch}", "%s", "val_acc__MIN", "a - b",
    "a/b/c/d",
]  # fmt: skip
OTHERS = [
    "model", "method", "fold", "split", "phase", "state", "status", "time", "wall time", "relative time", "id",
    "name", "seed", "run", "run 2", "seed_3", "step", "global_step", "episode", "sample_id", "experiment", "group",
    "metric", "value", "tag", "notes", "date", "unnamed: 0",
]  # fmt: skip
CELLS = [
    "0", "1", "0.5", "nan", "NaN", "inf", "-inf", "1e400", "-1e308", "5e-324", "", "x", "1,5", "97%", "1" * 500, "-1",
    "2147483648", "9" * 4400, "null", "None", "N/A", "-", "0x10", "1_000", "９", "٣", " 3 ", "1e", "1e5", ".5", "5.",
    "+1", "0:01:23", "true", "../../etc", "train", "val", "finished", "crashed", "=1+1", "a b", "½", "−1", "1 000",
    "1\u00a0000", "\u200b1", "1d", "infinity", "nan(1)", "1.7976931348623159e308", "<b>", "\x1b[31m", "\x85",
    "\u2028",
]  # fmt: skip
WORDS = [
    "base", "proposed", "résumé", "a b", "", "x" * 400, "-1", "0", "1.0", "01", "nan", "../a", "A", "a", "lo\udfff",
    "run,1", 'a"b', "a\\b", "seed 3", "\u202e1", "None",
]  # fmt: skip


def good_rows(draw: Draw) -> list[Row]:
    """Return the rows of some trainings: a row for each epoch, or one for each run."""
    names = ["loss", *draw.sample(METRICS, draw.choice([0, 0, 1, 1, 2, 4]))]
    runs = draw.choice([1, 2, 3, 3, 5, 8, 8, 30])
    epochs = draw.choice([0, 0, 1, 3, 3, 5, 20])
    counted, told = (
        draw.choice(["epoch", "epoch", "step", "Iteration", "global_step"]),
        draw.choice(["seed", "run", "run_id"]),
    )
    call = draw.choice([int, int, lambda n: f"run{n}", lambda n: f"{n:04d}", lambda n: n * 1000003])
    rows = []
    for run in range(runs):
        for epoch in range(max(1, epochs)):
            values = {name: round(draw.random() * 10 ** draw.choice([0, 0, 2, -3]), 4) for name in names}
            rows.append({told: call(run), **({counted: epoch} if epochs else {}), **values})
    return rows


def odd_rows(rows: list[Row], draw: Draw) -> list[Row]:
    """Change rows a little or a lot."""
    for change in draw.sample(CHANGES, draw.choice([0, 0, 0, 1, 1, 1, 2, 3])):
        rows = change(rows, draw)
    return rows


def _cells(rows: list[Row], draw: Draw) -> list[Row]:
    """Put odd words into cells: of the metrics mostly."""
    share = draw.choice([0.02, 0.1, 0.5, 1])
    names = [name for row in rows[:1] for name in row][draw.choice([2, 2, 2, 1, 0]) :]
    few = draw.sample(CELLS, draw.choice([1, 2, 5, len(CELLS)]))
    return [{**row, **{name: draw.choice(few) for name in names if draw.random() < share}} for row in rows]


def _column(rows: list[Row], draw: Draw) -> list[Row]:
    name, words = draw.choice([*OTHERS, *METRICS]), draw.sample([*WORDS, *CELLS], draw.choice([1, 2, 4]))
    return [{**row, name: draw.choice(words)} for row in rows]


def _grouped(rows: list[Row], draw: Draw) -> list[Row]:
    name, words = draw.choice(["model", "method", "experiment", "config"]), draw.sample(WORDS, 2)
    return [{name: word, **row} for word in words for row in rows]


def _lacking(rows: list[Row], draw: Draw) -> list[Row]:
    share = draw.choice([0.02, 0.3])
    keys = list(rows[0])[: draw.choice([0, 1, 2, 2, 2])] if rows else []
    return [{name: cell for name, cell in row.items() if name in keys or draw.random() > share} for row in rows]


def _long(rows: list[Row], draw: Draw) -> list[Row]:
    """Write a row for each value."""
    metric, value = draw.choice([("metric", "value"), ("tag", "value"), ("key", "value"), ("Metric Name", "Value")])
    made = []
    for row in rows:
        keys = dict(list(row.items())[:2]) if len(row) > 2 else dict(list(row.items())[:1])
        made += [{**keys, metric: name, value: cell} for name, cell in row.items() if name not in keys]
    return made


def _wide(rows: list[Row], draw: Draw) -> list[Row]:
    """Write a column for each run, as charts are exported."""
    ending = draw.choice(["", " - loss", " - loss"])
    count = draw.choice([2, 3, 30])
    band = {f"r{run}{ending}{end}": 0 for run in range(count) for end in ("", "__MIN", "__MAX")} if ending else {}
    names = list(band) or [f"{draw.choice(['run', 'seed'])} {run}" for run in range(count)]
    return [{"Step": step, **{name: draw.random() for name in names}} for step in range(draw.choice([1, 5, 50]))]


def _torn(rows: list[Row], draw: Draw) -> list[Row]:
    return rows[: draw.randint(0, len(rows))]


def _twice(rows: list[Row], draw: Draw) -> list[Row]:
    return [*rows, *draw.sample(rows, min(len(rows), draw.choice([1, 1, 5])))]


def _shuffled(rows: list[Row], draw: Draw) -> list[Row]:
    return draw.sample(rows, len(rows))


def _renamed(rows: list[Row], draw: Draw) -> list[Row]:
    """Give a column another name, of the good ones and the odd ones."""
    old, new = draw.choice([*rows[0], *list(rows[0])[2:] * 4] if rows else [""]), draw.choice([*METRICS, *OTHERS])
    return [{new if name == old else name: cell for name, cell in row.items()} for row in rows]


def _large(rows: list[Row], draw: Draw) -> list[Row]:
    """Have many rows, columns, runs or metrics."""
    if draw.random() < 0.5:
        return [{**row, next(iter(row)): f"{number}-{index}"} for number in range(30) for index, row in enumerate(rows)]
    kind = draw.randrange(4)
    if kind == 0 and rows:
        return [{**row, "seed": number} for number in range(draw.choice([1990, 2001, 60_000])) for row in rows[:1]]
    if kind == 1:
        return [{**row, **{f"m{n}": 0.1 for n in range(draw.choice([900, 4900, 5200]))}} for row in rows[:40]]
    if kind == 2:
        return [
            {"run": n // 50_000, "step": n % 50_000, "loss": 0.1}
            for n in range(draw.choice([10_000, 150_000, 400_000]))
        ]
    return [{**row, "metric": f"m{n}", "value": 0.5} for row in rows[:3] for n in range(draw.choice([900, 40_000]))]


def _nested(rows: list[Row], draw: Draw) -> list[Row]:
    """Put an object, a list or a deep nest into a cell."""
    deep: Any = 0.5
    for _ in range(draw.choice([1, 2, 5, 60, 400])):
        deep = draw.choice([{"a": deep}, {"a": deep}, [deep]])
    return [{**row, "more": draw.choice([deep, {"acc": 0.5, "f1": {"a": 1, "b": None}}, [1, 2], {}])} for row in rows]


CHANGES: Sequence[Callable[[list[Row], Draw], list[Row]]] = (
    _cells, _cells, _cells, _column, _column, _grouped, _lacking, _long, _wide, _torn, _twice, _shuffled, _renamed,
    _renamed, _large, _nested,
)  # fmt: skip


def separated(rows: list[Row], draw: Draw) -> bytes:
    """Return rows as text, in one of the ways in which programs write it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO()
    writer = csv.writer(
        file, delimiter=draw.choice(",,,,;\t"), quoting=draw.choice([*[csv.QUOTE_MINIMAL] * 2, csv.QUOTE_ALL]),
        lineterminator=draw.choice(["\n", "\n", "\n", "\r\n", "\r"]),
    )  # fmt: skip
    body = [[row.get(name, "") for name in names] for row in rows]
    if draw.random() < 0.06:
        body = [[*cells, *draw.sample(CELLS, draw.randint(0, 3))][draw.choice([0, 0, 1]) :] for cells in body]
    before = draw.choice([[], [], [], [], [], [['#{"t_start": 1}']], [[]], [[""]], [["# made by x"]]])
    writer.writerows([*before, names, *body])
    return encoded(file.getvalue(), draw)


def encoded(text: str, draw: Draw) -> bytes:
    """Return the bytes of a text, mostly in UTF-8."""
    how = draw.choice(["utf-8"] * 14 + ["utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-32-le"])
    return text.encode(how, "surrogatepass" if how == "utf-8" and draw.random() < 0.5 else "replace")


def dumped(rows: list[Row], draw: Draw) -> tuple[str, bytes]:
    """Return rows as JSON in one of the shapes that trainings write, with the ending of its name."""
    columns = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else {})}
    name, value = draw.choice([
        ("lines", rows), ("lines", rows), ("json", rows), ("json", {"log_history": rows, "epoch": 3, "best": None}),
        ("json", columns), ("json", {"history": columns}), ("json", {str(n): row for n, row in enumerate(rows)}),
        ("json", rows[0] if rows else {}),
    ])  # fmt: skip
    spaced = draw.choice([None, None, 1])
    if name == "lines":
        return draw.choice(["jsonl", "ndjson", "json"]), encoded("\n".join(map(json.dumps, rows)), draw)
    return "json", encoded(json.dumps(value, ensure_ascii=draw.random() < 0.7, indent=spaced), draw)


def logged(rows: list[Row], draw: Draw) -> tuple[bytes, tuple[str, ...]]:
    """Return rows as lines of a log, and the patterns that read them."""
    names = list(rows[0]) if rows else ["epoch", "loss"]
    ends = draw.choice(["\n", "\n", "\r\n", "\r"])
    lines = [" ".join(f"{name}: {row.get(name, '')}" for name in names) for row in rows]
    noise = draw.choice(
        [[], [], ["Traceback (most recent call last):"], ["x" * 2_000_000], ["\x1b[2K 10%|#|"], ["\0" * 50]]
    )
    template = " ... ".join(f"{name}: {{{name}}}" for name in names[: draw.choice([2, 3, 9])])
    usual = [template] * 24
    pattern = draw.choice(
        [*usual, r"(?P<loss>\d+\.\d+)", r"(a|a)*(?P<x>b)", "{", "", "loss: {loss}", r"(?P<loss>(x+x+)+y)"]
    )
    return encoded(ends.join([*noise, *lines, *noise]), draw), (pattern,)


def array(draw: Draw) -> bytes:
    """Return an array, or a head that claims one: no table."""
    file = io.BytesIO()
    if draw.random() < 0.5:
        head = {"descr": "<f8", "fortran_order": False, "shape": (draw.choice([3, 10**6, 10**12]),)}
        np.lib.format.write_array_header_1_0(file, head)
    else:
        np.save(file, np.zeros((3, 3)))
    return file.getvalue()


def nest(draw: Draw) -> bytes:
    """Return a nest that is deep."""
    depth = draw.choice([50, 900, 5_000, 200_000])
    start, end = draw.choice([(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
    return start * depth + b"1" + end * depth


def damaged(data: bytes, draw: Draw) -> bytes:
    """Cut a file, write stray bytes into it, or repeat it to megabytes."""
    kind, place = draw.randrange(5), draw.randrange(len(data) or 1)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + draw.randbytes(draw.randint(1, 20)) + data[place:]
    if kind == 2:
        return data[:place] + draw.choice([b'"', b"\n", b"\0", b"\xff", b",", b"{", b"'"]) + data[place:]
    if kind == 3 and draw.random() < 0.4:
        return data * (20_000_000 // max(1, len(data)))
    return data[:place] + data[place + draw.choice([1, 5, 100]) :]


def options(rows: list[Row], draw: Draw) -> dict[str, Any]:
    """Return options for tables: mostly none, else some that fit and some that do not."""
    if draw.random() < 0.8 or not rows:
        return {}
    names = [*rows[0], draw.choice([*METRICS, *OTHERS])]
    name = draw.choice(names)
    return draw.choice([
        {"rows": "runs"}, {"rows": "iterations"}, {"run": (names[0],)}, {"run": (names[0], name)}, {"iteration": name},
        {"experiment": name}, {"mean_over": (name,)}, {"where": ((name, str(rows[0].get(name, "0"))),)},
        {"runs_of": "acc"}, {"time": name}, {"metric": name, "value": names[-2]}, {"metric": name},
    ])  # fmt: skip


def case(seed: int) -> Case:
    """Return the case of a seed."""
    draw = random.Random(seed)
    kind = draw.choice(["csv"] * 6 + ["json"] * 6 + ["log"] * 3 + ["tracker"] * 4 + ["other"])
    if kind == "tracker":
        kind, files, paths = store(draw)
        files = {name: damaged(data, draw) if draw.random() < 0.1 else data for name, data in files.items()}
        return Case(kind, files, paths, {}, {})
    if kind == "other":
        name, data = draw.choice([
            ("a.npy", array(draw)), ("a.json", nest(draw)), ("a.jsonl", nest(draw)),
            ("a.yaml", b"runs:\n- {loss: 1}\n"), ("a.csv.gz", gzip.compress(b"seed,acc\n0,1\n")), ("a.csv", b""),
            ("-x.csv", b"seed,acc\n0,1\n"),
        ])  # fmt: skip
        return Case(kind, {name: data}, [name], {"format": draw.choice([None, "csv", "json", "log"])}, {})
    count = draw.choice([1, 1, 1, 1, 2, 3])
    files, request = {}, {}
    rows: list[Row] = []
    good = good_rows(draw)
    for number in range(count):
        rows = [{**row, next(iter(row)): f"{number}{next(iter(row.values()))}"} for row in good]
        rows = odd_rows(rows, draw) if number == count - 1 or draw.random() < 0.2 else rows
        ending, data = "log", b""
        if kind == "csv":
            ending, data = draw.choice(["csv", "csv", "tsv", "CSV"]), separated(rows, draw)
        elif kind == "json":
            ending, data = dumped(rows, draw)
        else:
            data, request["patterns"] = logged(rows, draw)
        stem = draw.choice(["a", "a b", "é", "a" * 200, "-x", "a'b", "run-r1-tag-loss", "a\nb"])
        files[f"{stem}{number}.{ending}"] = damaged(data, draw) if draw.random() < 0.08 else data
    if draw.random() < 0.1:
        request["aggregates"] = {"loss": draw.choice(["best", "at 1", "area", "mean", "x"])}
    if draw.random() < 0.1:
        request["metrics"] = (draw.choice(["loss", "nothing"]),)
    return Case(kind, files, list(files), request, options(rows, draw))
