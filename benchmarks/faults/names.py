"""Names with escapes, formulas, LaTeX, Markdown and HTML in every output of every command that prints results.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/names.py > names.json

Two experiments are imported whose metrics have these names, and two of as many metrics with plain names. Each output
must have no character that commands a terminal, and the structure of the one with plain names: the same HTML elements,
the same rows of tables. CSV begins no formula, JSON holds the names as they are, XML parses, and LaTeX compiles. Two
more pairs are run: their program prints the names, writes them as the head of a table and the name of a file, and uses
them for classes and groups. What it reports is found in print, so their numbers of rows may differ: no kind of HTML
element may come of a name. Commands run in forks of this process.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from forks import command, warm
from harness import finish, judged_end

NAMES = [
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07x", "a\rb", "c\nd", "bell\x07", "\x9b31mC1", "\u202egnp.exe",
    "\u2066iso\u2069", "\u200f=1", "=1+1", "+1", "-1", "@SUM(A1) acc", "\t=1", "＝1", "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x")', "[1] acc", "*acc", "](http://x)", "![x](y)", "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", '"onmouseover=alert(1) x="', "]]>", "&lt;b&gt;", "`code`", "a|b", "$x$",
    "$(touch gone)", "\\input{x}", "\\write18{x}", "%c", "# h", "---", "===", "{{7*7}}", "a~b^c_d", "é😀",
]  # fmt: skip

PLAIN = [f"metric {index}" for index in range(len(NAMES))]

#: Of commands that are about one metric, the place of its name.
CHOSEN = {"check": 21, "plan": 30}

#: Categories of characters that are not shown: commands, marks of direction, ends of lines.
HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}

PAGES = ("terminal", "md", "tex", "html")

#: Words of each command, with its formats.
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "report": ("report a", (*PAGES, "csv", "json")),
    "compare": ("compare a b", (*PAGES, "csv", "json")),
    "check": ("check a --against b --max-drop 1", (*PAGES, "json", "junit")),
    "plan": ("plan a", (*PAGES, "json")),
    "show": ("show a", ("",)),
    "show --json": ("show a --json", ("",)),
    "list": ("list", ("",)),
}


#: Reports names that its source does not have: printed, as the head of a table, of a file, of classes and groups.
TRAIN = """\
import csv, json, os, random, sys

names = json.load(open("names.json"))
path = names[0].replace("/", "") + ".csv"
table = csv.writer(open(path, "w", newline=""))
table.writerow(names)
strange = open(os.fsdecode(b"\\xff\\xfe") + ".csv", "w")
strange.write("epoch,kept\\n")
for epoch in range(3):
    values = [random.random() for name in names]
    table.writerow(values)
    strange.write(f"{epoch},{random.random()}\\n")
    for name, value in zip(names, values):
        sys.stdout.write(f"{name}: {value / 2:.5f}\\n")
        sys.stderr.write(json.dumps({name: value / 3}) + "\\n")
classes = names[:3]
with open("answers.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["index", "prediction", "target", *names[3:7]])
    for index in range(24):
        groups = [names[(index + at) % 2 + 9] for at in range(4)]
        rows.writerow([index, random.choice(classes), classes[index % 3], *groups])
"""

#: Places of the names that are given first: file and classes, then columns of groups, then the groups themselves.
FIRST = ("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\\input{x}", "\x1b[31mred\x1b[0m", "[a](b)", "=1+1",
         "a|b", "](http://x)", "$x$", "<img src=x onerror=alert(1)>", "\x1b]0;title\x07x")  # fmt: skip

#: Words of commands on what was run, with their formats; `GROUPS` and `METRIC` stand for options with names.
RUN_COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "report of runs": ("report a GROUPS", (*PAGES, "csv", "json", "summary", "groups")),
    "comparison of runs": ("compare a b GROUPS", (*PAGES, "csv", "json")),
    "check of runs": ("check a --against b METRIC --max-drop 1 --set inconclusive=pass", (*PAGES, "json", "junit")),
    "show runs": ("show a", ("",)),
}


class Elements(HTMLParser):
    """Count the elements of a page with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.counts: Counter[tuple[str, ...]] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count one element; grave accents make code of a sentence's words, so that a name in them is set as code."""
        if tag != "code":
            self.counts[tag, *(name for name, _ in attrs)] += 1


def main() -> None:
    """Run the commands, print the table and the JSON."""
    warm()
    with tempfile.TemporaryDirectory() as folder:
        hostile, plain = Path(folder) / "hostile", Path(folder) / "plain"
        rows = [*imported(hostile, NAMES), *imported(plain, PLAIN)]
        for name, (words, formats) in COMMANDS.items():
            for kind in formats:
                rows.append(judged(name, words, kind, hostile, plain))
        hostile, plain = Path(folder) / "hostile runs", Path(folder) / "plain runs"
        rows += [*run(hostile, [*FIRST, *NAMES]), *run(plain, [*PLAIN, *(f"other {at}" for at in range(len(FIRST)))])]
        for name, (words, formats) in RUN_COMMANDS.items():
            for kind in formats:
                rows.append(judged_run(name, words, kind, hostile, plain))
    outputs = sum(len(formats) for _, formats in [*COMMANDS.values(), *RUN_COMMANDS.values()])
    finish(rows, names=len({*NAMES, *FIRST}), outputs=outputs)


def imported(project: Path, names: list[str]) -> list[dict[str, Any]]:
    """Import two experiments with metrics of these names."""
    project.mkdir()
    rows = []
    for place, experiment in enumerate("ab"):
        runs = [
            {"seed": seed, **{name: 0.5 + 0.01 * ((seed * 7 + at * 3 + place) % 11) for at, name in enumerate(names)}}
            for seed in range(6)
        ]
        (project / f"{experiment}.json").write_text(json.dumps(runs))
        directions = [word for index in CHOSEN.values() for word in ("--set", f"direction={names[index]}=higher")]
        _, row = made(project, ["import", f"{experiment}.json", "--name", experiment, *directions])
        rows.append({"group": "import", "name": f"{project.name} {experiment}", **row})
    return rows


def run(project: Path, names: list[str]) -> list[dict[str, Any]]:
    """Run two experiments whose program reports these names."""
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    (project / "names.json").write_text(json.dumps(names))
    rows = []
    for experiment in "ab":
        words = ["run", "-n", "3", "--name", experiment, "--predictions", "answers.csv"]
        _, row = made(project, [*words, "--", sys.executable, "train.py"])
        rows.append({"group": "run", "name": f"{project.name} {experiment}", **row})
    return rows


def judged_run(name: str, words: str, kind: str, hostile: Path, plain: Path) -> dict[str, Any]:
    """Make one output of runs; say what is wrong with that of hostile names."""
    texts = []
    for project in (hostile, plain):
        names = json.loads((project / "names.json").read_text())
        given = [word for column in names[3:5] for word in ("--set", f"groups={column}")]
        metric = [f"--metric={observed(project)}", "--set", f"direction={observed(project)}=higher"]
        options = {"GROUPS": given, "METRIC": metric}
        line = [each for word in words.split() for each in options.get(word, [word])]
        texts.append(made(project, [*line, *form(words, kind)]))
    (text, row), (reference, _) = texts
    return {
        "group": name,
        "name": kind or "terminal",
        **row,
        "problem": row["problem"] or wrong_run(text, reference, kind, hostile),
    }


def observed(project: Path) -> str:
    """Return the longest name of the metrics that were found in print: one that has to be neutralized."""
    report, _ = made(project, ["report", "a", "--format", "json"])
    return max(
        (
            each["name"]
            for each in json.loads(report)["variants"][0]["metrics"]
            if not each["name"].startswith("time per")
        ),
        key=len,
    )


def wrong_run(text: str, reference: str, kind: str, project: Path) -> str:
    """Say what is wrong with an output about names that were found in print."""
    hidden = hidden_characters(text, kind)
    strange = set(Elements(text).counts) - set(Elements(reference).counts) if kind == "html" else set()
    tags = re.search(r"(?<![\\`])<(script|img)", re.sub(r"`[^`\n]*`", "", text)) if kind == "md" else None
    checks: dict[str, Callable[[], str]] = {
        "csv": lambda: formulas(text), "summary": lambda: formulas(text), "groups": lambda: formulas(text),
        "json": lambda: loaded(text), "junit": lambda: "" if ElementTree.fromstring(text) is not None else "no XML",
        "tex": lambda: compiled(text, project),
    }  # fmt: skip
    odd = f"elements that come of names: {strange}" if strange else f"HTML in Markdown: {tags[0]}" if tags else ""
    return hidden or odd or checks.get(kind, lambda: "")()


def hidden_characters(text: str, kind: str) -> str:
    """Name characters in an output that command a terminal."""
    shown = text.replace("\t", "") if kind == "html" else text
    hidden = sorted({repr(each) for each in shown if each != "\n" and unicodedata.category(each) in HIDDEN})
    return f"characters that command: {', '.join(hidden)}" if hidden else ""


def judged(name: str, words: str, kind: str, hostile: Path, plain: Path) -> dict[str, Any]:
    """Make one output with hostile and with plain names; say what is wrong with the first."""
    texts = []
    for project, names in ((hostile, NAMES), (plain, PLAIN)):
        chosen = [f"--metric={names[CHOSEN[name]]}"] if name in CHOSEN else []
        texts.append(made(project, [*words.split(), *chosen, *form(words, kind)]))
    (text, row), (reference, _) = texts
    kind = kind or ("json" if "json" in words else "terminal")
    return {
        "group": name,
        "name": kind,
        **row,
        "problem": row["problem"] or wrong(text, reference, kind, hostile, name),
    }


#: What the name of a file ends in, by the format that it asks for.
SUFFIXES = {"terminal": "txt", "junit": "xml"}


def form(words: str, kind: str) -> list[str]:
    """Return how a command is told the format: reports by its name, others by that of a file."""
    if not kind:
        return []
    by_name = words.startswith(("report", "compare"))
    return ["--format", kind] if by_name else ["-o", f"written.{SUFFIXES.get(kind, kind)}"]


def made(project: Path, words: list[str]) -> tuple[str, dict[str, Any]]:
    """Return what a command prints, or the file that it writes, and how it ended."""
    began = time.perf_counter()
    ended = command(project, words, {})
    row = judged_end(ended.status, ended.printed, ended.errors, began, late=ended.late)
    problem = row["problem"] or (row["message"] or "status 2" if ended.status == 2 else "")
    file = project / words[-1] if words[-2:-1] == ["-o"] else None
    text = file.read_text() if file is not None and file.exists() else ended.printed
    return text, {**row, "problem": problem}


def wrong(text: str, reference: str, kind: str, project: Path, of: str) -> str:
    """Say what is wrong with an output."""
    if hidden := hidden_characters(text, kind):
        return hidden
    checks: dict[str, Callable[[], str]] = {
        "html": lambda: "" if Elements(text).counts == Elements(reference).counts else elements(text, reference),
        "csv": lambda: formulas(text),
        "json": lambda: lost_names(text) if of in ("report", "compare") else loaded(text),
        "junit": lambda: "" if ElementTree.fromstring(text) is not None else "no XML",
        "md": lambda: rows_of(text, reference), "tex": lambda: compiled(text, project),
    }  # fmt: skip
    return checks.get(kind, lambda: "")()


def elements(text: str, reference: str) -> str:
    """Say which elements are more or fewer than with plain names."""
    first, second = Elements(text).counts, Elements(reference).counts
    return f"other elements: {dict((first - second) + (second - first))}"


def formulas(text: str) -> str:
    """Name a cell that a spreadsheet computes; a number is none."""
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            if re.match(r"\s*[=+\-@\t\r＝＋－＠]", cell) and not re.fullmatch(r"-?(\d.*|inf|nan)", cell):
                return f"a formula: {cell!r}"
    return ""


def lost_names(text: str) -> str:
    """Say which names are not in the JSON as they are."""
    found = set(strings(json.loads(text)))
    lost = [name for name in NAMES if name not in found and name.strip() not in found]
    return f"names lost: {lost}" if lost else ""


def loaded(text: str) -> str:
    """Read JSON."""
    json.loads(text)
    return ""


def strings(value: object) -> list[str]:
    """Return all strings of a JSON value."""
    if isinstance(value, dict):
        return [each for pair in value.items() for part in pair for each in strings(part)]
    if isinstance(value, list):
        return [each for part in value for each in strings(part)]
    return [value] if isinstance(value, str) else []


def rows_of(text: str, reference: str) -> str:
    """Compare the rows and cells of Markdown's tables, and its headings; escaped bars are none."""

    def shape(markdown: str) -> Counter[tuple[str, int]]:
        lines = [re.sub(r"\\.", "", line) for line in markdown.splitlines()]
        tables = [("row", line.count("|")) for line in lines if line.startswith("|")]
        return Counter([*tables, *(("heading", 0) for line in lines if re.match(r"#{1,6} ", line))])

    first, second = shape(text), shape(reference)
    return "" if first == second else f"other rows: {dict((first - second) + (second - first))}"


def compiled(text: str, project: Path) -> str:
    """Compile LaTeX."""
    if shutil.which("pdflatex") is None:
        return ""
    source = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{text}\n\\end{{document}}\n"
    (project / "paper.tex").write_text(source)
    words = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
    ended = subprocess.run(words, cwd=project, capture_output=True, timeout=120, check=False)
    lines = ended.stdout.decode("utf-8", "replace").splitlines()
    return "" if ended.returncode == 0 else next((line for line in lines if line.startswith("!")), "LaTeX failed")


if __name__ == "__main__":
    main()
