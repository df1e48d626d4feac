"""Names with escapes, formulas, LaTeX, Markdown and HTML in every output of every command that prints results.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/names.py > names.json

Two experiments are imported whose metrics have these names, and two of as many metrics with plain names. Each output
must have no character that commands a terminal, and the structure of the one with plain names: the same HTML elements,
the same rows of tables. CSV begins no formula, JSON holds the names as they are, XML parses, and LaTeX compiles.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
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
    finish(rows, names=len(NAMES), outputs=sum(len(formats) for _, formats in COMMANDS.values()))


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
        directions = [f"--direction={names[index]}=higher" for index in CHOSEN.values()]
        _, row = made(project, ["import", f"{experiment}.json", "--name", experiment, *directions])
        rows.append({"group": "import", "name": f"{project.name} {experiment}", **row})
    return rows


def judged(name: str, words: str, kind: str, hostile: Path, plain: Path) -> dict[str, Any]:
    """Make one output with hostile and with plain names; say what is wrong with the first."""
    texts = []
    for project, names in ((hostile, NAMES), (plain, PLAIN)):
        chosen = [f"--metric={names[CHOSEN[name]]}"] if name in CHOSEN else []
        texts.append(made(project, [*words.split(), *chosen, *(["--format", kind] if kind else [])]))
    (text, row), (reference, _) = texts
    kind = kind or ("json" if "json" in words else "terminal")
    return {
        "group": name,
        "name": kind,
        **row,
        "problem": row["problem"] or wrong(text, reference, kind, hostile, name),
    }


def made(project: Path, words: list[str]) -> tuple[str, dict[str, Any]]:
    """Return what a command prints, and how it ended."""
    began = time.perf_counter()
    ended = command(project, words, {})
    row = judged_end(ended.status, ended.printed, ended.errors, began, late=ended.late)
    problem = row["problem"] or (row["message"] or "status 2" if ended.status == 2 else "")
    return ended.printed, {**row, "problem": problem}


def wrong(text: str, reference: str, kind: str, project: Path, of: str) -> str:
    """Say what is wrong with an output."""
    shown = text.replace("\t", "") if kind == "html" else text
    hidden = sorted({repr(each) for each in shown if each != "\n" and unicodedata.category(each) in HIDDEN})
    if hidden:
        return f"characters that command: {', '.join(hidden)}"
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
