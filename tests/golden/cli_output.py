"""Run ``deviate WORDS`` in this process and return what a user sees, less what differs from one day to the next."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deviate.cli.main import run_command_line

#: Variables from which terminals and time zones are guessed.
_GUESSED = ("FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM")

_DATE = re.compile(r"(?!2026-03-01)\b\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:\d\d|Z)?)?")
_LONG_NUMBER = re.compile(r"(?<![\w.])(?<!\d:)-?\d+(?:\.\d{6,}(?:e[+-]?\d+)?|(?:\.\d+)?e[+-]\d+)(?![\w.])")


def deviate(project: Path, *words: str, width: int = 80, colours: bool = False) -> str:
    """Run ``deviate WORDS`` in the folder `project`, where nothing was compared before.

    Returns
    -------
    str
        Standard output, or the file of ``-o``; below it standard error and the exit status, where there is any and
        where it is not 0.
    """
    forget_comparisons(project)
    out, err = _Buffered(), _Buffered()
    terminal = {"COLUMNS": str(width), "LINES": "50", "TERM": "xterm-256color", "LANGUAGE": "C"}
    if colours:
        terminal["FORCE_COLOR"] = "1"
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with contextlib.chdir(project), _variables(terminal), _arguments(words), streams[0], streams[1]:
        status = run_command_line()
    file = project / words[words.index("-o") + 1] if "-o" in words else None
    parts = [out.text() if file is None else file.read_text()]
    parts += [f"==> standard error\n{err.text()}"] if err.text() else []
    parts += [f"==> exit status {status}\n"] if status else []
    return plain("".join(parts), project)


def forget_comparisons(project: Path) -> None:
    """Make the next comparison the first one, for which no direction was typed before."""
    shutil.rmtree(project / ".deviate" / "looks", ignore_errors=True)
    (project / ".deviate" / "directions.json").unlink(missing_ok=True)


@contextlib.contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    for name in _GUESSED:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _arguments(words: tuple[str, ...]) -> Iterator[None]:
    before, sys.argv = sys.argv, ["deviate", *words]
    try:
        yield
    finally:
        sys.argv = before


class _Buffered(io.TextIOWrapper):
    """A text stream with a binary one below, as standard output has."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


# ------------------------------------------------------------------------------------------- what takes its time

#: Functions that compute what several formats show. One that is no longer there makes the tests slower, not wrong.
_SLOW = (
    ("deviate.api", "compare"),
    ("deviate.api", "check"),
    ("deviate.api", "plan"),
    ("deviate.facts.stored", "read_results"),
)


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Compute within this context each comparison, gate, plan and report once, however many formats show it.

    Only for experiments that do not change meanwhile.
    """
    before: list[tuple[Any, str, Callable[..., Any]]] = []
    for module_name, name in _SLOW:
        with contextlib.suppress(ImportError, AttributeError):
            module = importlib.import_module(module_name)
            function = getattr(module, name)
            before.append((module, name, function))
            setattr(module, name, _remembering(function))
    try:
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)


def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {}

    @functools.wraps(function)
    def remember(*given: Any, **named: Any) -> Any:
        key = repr((given, sorted(named.items())))
        if key not in known:
            known[key] = function(*given, **named)
        return known[key]

    return remember


# ----------------------------------------------------------------------------------------------- what is volatile


def plain(text: str, project: Path) -> str:
    """Replace the project's folder, the version of Deviate and dates of today by words, and round long numbers.

    Dates of the experiments made by hand, 1 March 2026, stay. Numbers keep 9 significant digits: later ones may differ
    between processors.
    """
    text = text.replace(str(project.resolve()), "PROJECT").replace(str(project), "PROJECT")
    text = re.sub(rf"\b{re.escape(version('deviate-dl'))}(?!\.?\d)", "VERSION", text)
    text = _DATE.sub(lambda match: f"DATE{match[1]}TIME" if match[1] else "DATE", text)
    # An experiment that was made today.
    text = re.sub(r"(?m)(?<=  )\d\d:\d\d$", "TIME", text)
    return _LONG_NUMBER.sub(_shorter, text)


def _shorter(match: re.Match[str]) -> str:
    """Return a number with 9 significant digits, one that has no more as it was printed."""
    digits = re.sub(r"e.*|\D", "", match[0]).strip("0")
    return f"{float(match[0]):.9g}" if len(digits) > 9 else match[0]


#: Keys whose values say how long something took, when, where or in which process.
_VOLATILE = frozenset(
    {
        *(
            "argv",
            "cores",
            "cpu",
            "cpu_capability",
            "cpu_seconds",
            "created",
            "cwd",
            "duration",
            "elapsed",
            "environment",
            "executable",
            "files",
        ),
        *(
            "git",
            "hardware",
            "inherited",
            "host",
            "installed_gpus",
            "mtime_ns",
            "pid",
            "ppid",
            "python",
            "seconds",
            "system",
            "threads",
        ),
        *("peak_memory", "timeline", "total_seconds", "variables"),
    }
)


def plain_json(text: str) -> str:
    """Replace the volatile values of JSON that tells of real runs: by key, and all numbers of measured times."""
    body, mark, rest = text.partition("==> ")
    return json.dumps(_plain_value(json.loads(body)), indent=1, ensure_ascii=False) + "\n" + mark + rest


def _plain_value(value: Any, timed: bool = False) -> Any:
    if isinstance(value, dict):
        timed = timed or _is_time(value)
        return {key: "…" if key in _VOLATILE else _plain_value(each, timed) for key, each in value.items()}
    if isinstance(value, list):
        # Metrics are in order of how much they vary; two times may come either way round.
        times = sorted((each for each in value if _is_time(each)), key=str)
        return [_plain_value(each, timed) for each in [*(each for each in value if not _is_time(each)), *times]]
    if timed and isinstance(value, float):
        return "…"
    return plain_times(value) if isinstance(value, str) else value


def _is_time(value: Any) -> bool:
    return isinstance(value, dict) and str(value.get("name", value.get("metric", ""))).startswith("time per")


def plain_times(text: str) -> str:
    """Replace in a text that tells of real runs whatever says how long something took, or on how many cores.

    Blanks and rules of tables are made short, since columns are as wide as what was measured.
    """
    text = re.sub(r"(?m)(?:^time per [a-z]+ \(m?s\).*\n)+", "time per … (s) …\n", text)
    text = re.sub(r"A run took [^.]*(?:\.\d[^.]*)*\.", "A run took … s.", text)
    text = re.sub(r"\b\d[\d.]*(?: ± \d[\d.]*| to \d[\d.]*)? m?s\b", "… s", text)
    text = re.sub(r"\bCPU [^,]*, \d+ cores? for each run, system \S+", "CPU …", text)
    text = re.sub(r"\bPython \d+\.\d+\.\d+\b", "Python …", text)
    text = re.sub(r"\b\d+ threads?\b|threads \(\d+\)", "… threads", text)
    return re.sub(r"(?m)(?<=\S)  +", "  ", re.sub("─+", "───", text))


# ------------------------------------------------------------------------------------------------------ HTML


def page_text(html: str) -> str:
    """Return what a page says, a line a heading, paragraph, item or row of a table, and what its charts are made of.

    Of a chart: title, description, marks, what each channel shows, how many rows of data there are and their digest.
    """
    body, mark, rest = html.partition("==> ")
    reader = _PageReader()
    reader.feed(body)
    reader.close()
    return "\n".join(reader.lines) + "\n" + mark + rest


class _PageReader(HTMLParser):
    """Collects a line for each block of text."""

    _BLOCKS = frozenset(
        {
            *("caption", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "footer", "header", "li", "main"),
            *("h1", "h2", "h3", "h4", "h5", "h6", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"),
            *("thead", "title", "tr", "ul"),
        }
    )
    _CELLS = frozenset(("td", "th"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.pending: list[str] = []
        self.inside = ""
        self.prefix = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "style"):
            self._flush()
            self.inside = "json" if "json" in (given.get("type") or "") else tag
        elif tag in self._BLOCKS:
            self._flush()
            marked = tag in ("title", "caption", "figcaption", "summary", "li", "pre") or re.match(r"h\d$", tag)
            self.prefix = f"{tag}: " if marked else ""
        elif tag in self._CELLS and self.pending:
            self.pending.append(" | ")
        if given.get("id"):
            self.lines.append(f"#{given['id']}")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self.inside = ""
        elif tag in self._BLOCKS:
            self._flush()
        elif tag == "small":
            self.pending.append(" ")

    def handle_data(self, data: str) -> None:
        if self.inside == "json":
            self.lines += list(_chart_lines(json.loads(data)))
        elif not self.inside:
            self.pending.append(data)

    def _flush(self) -> None:
        text = " ".join("".join(self.pending).split())
        if text:
            self.lines.append(self.prefix + text)
        self.pending, self.prefix = [], ""


def _chart_lines(specification: Any) -> Iterator[str]:
    """Yield what a Vega-Lite specification shows."""
    for path, value in _walk(specification):
        key = path.rpartition("/")[2]
        if key in ("title", "description", "mark") and isinstance(value, str):
            yield f"  chart {path}: {value}"
        elif key == "mark" and isinstance(value, dict):
            yield f"  chart {path}: {value.get('type')}"
        elif isinstance(value, dict) and "field" in value:
            yield f"  chart {path}: {value['field']} {value.get('type', '')}".rstrip()
        elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value) and _is_data(path):
            yield f"  chart {path}: {len(value)} rows of {', '.join(value[0])}, {_digest(value)}"


def _is_data(path: str) -> bool:
    return path.endswith("/values") or "/datasets/" in path


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not _is_data(path):
        for key, each in items:
            yield from _walk(each, f"{path}/{key}")


def _digest(rows: Any) -> str:
    text = _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.9g}", json.dumps(rows, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
