"""Find the writer for a format or a file: the same for everything that is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from deviate.core.errors import BadOption
from deviate.report.escape import encodable, json_shown
from deviate.report.page import Reader


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """A format something can be written in."""

    name: str
    #: Of files, with the dot; the longest that fits a file's name decides.
    suffixes: tuple[str, ...]
    #: For whom pages in it are; None: it writes facts, not pages.
    reader: Reader | None = None
    #: Takes a page, or else the facts of its topic; what may be too long for one text comes in parts that end a line.
    render: Callable[[Any], str | Iterator[str]]


def imported(place: str, *arguments: Any) -> Callable[[Any], Any]:
    """Return a function of a module beside this one, as ``latex.render_latex``, which is imported when it is called.

    It takes a page or facts, and then the `arguments`.
    """
    module, _, name = place.partition(".")

    def render(written: Any) -> Any:
        return getattr(import_module(f"deviate.report.writers.{module}"), name)(written, *arguments)

    return render


#: LaTeX in the style of a conference or journal, see `deviate.report.writers.latex`.
PAPER_STYLES = ("neurips", "icml", "jmlr")

PAGE_WRITERS = (
    Writer(name="terminal", suffixes=(".txt",), reader="brief", render=imported("terminal.render_terminal")),
    Writer(name="md", suffixes=(".md", ".markdown"), reader="full", render=imported("markdown.render_markdown")),
    Writer(name="tex", suffixes=(".tex",), reader="paper", render=imported("latex.render_latex")),
    *(
        Writer(name=name, suffixes=(f".{name}.tex",), reader="paper", render=imported("latex.render_styled", name))
        for name in PAPER_STYLES
    ),
    Writer(name="html", suffixes=(".html", ".htm"), reader="full", render=imported("html.render_html")),
)

#: Formats of facts have one suffix, whichever topic writes them; trackers have none.
_FACT_SUFFIXES = {
    "json": (".json",),
    "csv": (".csv",),
    "summary": (".summary.csv",),
    "groups": (".groups.csv",),
    "weights": (".weights.csv",),
    "junit": (".xml",),
}

#: Other words for a format.
_ALIASES = {
    "markdown": "md",
    "latex": "tex",
    "text": "terminal",
    "txt": "terminal",
    "htm": "html",
    "records": "csv",
    "xml": "junit",
}

#: Trackers that a summary can be put into, see `tracked`.
TRACKERS = ("mlflow", "trackio", "wandb")

#: Names in the order in which they are offered.
_ORDER = (
    *("terminal", "md", "tex", *PAPER_STYLES, "json", "html", "csv", "summary", "groups", "weights", "junit"),
    *TRACKERS,
)

DEFAULT_FORMAT = "terminal"


def writers(**facts: Callable[[Any], str | Iterator[str]]) -> dict[str, Writer]:
    """Return what a topic can be written in by name: as a page, and its facts by the functions that are given.

    >>> list(writers(json=lambda facts: "{}"))
    ['terminal', 'md', 'tex', 'neurips', 'icml', 'jmlr', 'json', 'html']
    """
    offered = {writer.name: writer for writer in PAGE_WRITERS}
    for name, render in facts.items():
        offered[name] = Writer(name=name, suffixes=_FACT_SUFFIXES.get(name, ()), render=render)
    return {name: offered[name] for name in _ORDER if name in offered}


def find_writer(format_name: str | None, path: Path | None, offered: Mapping[str, Writer]) -> Writer:
    """Return the writer for a format, or else the one that the name of a file asks for.

    Raises BadOption if no writer has that name, or none the file's suffix.
    """
    if format_name is not None:
        return _by_name(format_name, offered)
    return offered[DEFAULT_FORMAT] if path is None else _by_suffix(path, offered)


def _by_name(name: str, offered: Mapping[str, Writer]) -> Writer:
    word = name.strip().lower()
    writer = offered.get(_ALIASES.get(word, word))
    if writer is None:
        raise BadOption(f"--format {name!r} is no format; expected one of {', '.join(offered)}", "type --format md")
    return writer


def _by_suffix(path: Path, offered: Mapping[str, Writer]) -> Writer:
    suffixes = {suffix: writer for writer in offered.values() for suffix in writer.suffixes}
    fitting = [suffix for suffix in suffixes if path.name.lower().endswith(suffix)]
    if not fitting:
        raise BadOption(
            f"{path.name!r} does not say which format to write; expected a name that ends in one of "
            f"{', '.join(suffixes)}",
            f"type --format with one of {', '.join(offered)}",
        )
    return suffixes[max(fitting, key=len)]


def put_into() -> dict[str, Callable[[Any], Any]]:
    """Return what puts the summary of facts into a tracker, by the tracker's name."""
    return {tracker: imported("tracked.put_into", tracker) for tracker in TRACKERS}


def facts_json(facts: msgspec.Struct) -> str:
    """Return facts whose fields are the contract as they are."""
    return json_text(msgspec.to_builtins(facts))


def json_text(contract: dict[str, Any]) -> str:
    """Return one JSON object, indented, with a final newline; lone surrogates are replaced, since UTF-8 has none."""
    return json_shown(msgspec.json.format(msgspec.json.encode(_encodable(contract)), indent=2).decode()) + "\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
