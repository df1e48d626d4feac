"""Lay a page out as one file that asks nothing of the network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from deviate.core.errors import NotInstalled
from deviate.report.escape import clean, code_pieces, encodable
from deviate.report.figures import DISTRIBUTIONS, THEMES, WITHOUT_CHARTS, Figure, drawing_module, themed
from deviate.report.page import Answer, Bars, Block, ByMetric, Drawing, Fold, Page, RunCard, Section, Strips, Table
from deviate.store.files import write_whole

# Figures as data in a page: no text of theirs can end the script element that holds them.

Datum = Mapping[str, Any]

#: Ends of elements and comments, and what a reader of XML would take for an entity.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def chart_data(figure: Figure) -> Markup:
    """Return the Vega-Lite specification of a figure as JSON for a script element."""
    spec = themed(figure)
    # The page draws with its own, dark or light.
    del spec["config"]
    spec["datasets"] = {name: packed(rows) for name, rows in spec.get("datasets", {}).items()}
    return embeddable(_clean(spec))


def run_cards(runs: Sequence[RunCard]) -> Markup:
    """Return what is shown of each run that is chosen in a chart, by its name."""
    cards = {run.name: {"facts": run.facts, "lines": run.lines} for run in runs}
    return embeddable(_clean(cards))


def _clean(value: Any) -> Any:
    """Clean every text: Vega writes some into expressions, and fails on a line separator in them."""
    if isinstance(value, dict):
        return {clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value] if not _numbers(value) else value
    return clean(value) if isinstance(value, str) and not value.isprintable() else value


def _numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def embeddable(value: Any) -> Markup:
    r"""Return JSON of ASCII characters that neither HTML nor a script takes for anything else.

    >>> print(embeddable(["</script>", "<!--", "\u2028"]))
    ["\u003c/script\u003e","\u003c!--","\u2028"]
    """
    return Markup(json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE))


def packed(rows: Sequence[Datum]) -> dict[str, Any]:
    """Return rows as columns, in which each text is there once.

    >>> packed([{"run": "a", "value": 1.5}, {"run": "a", "value": float("nan")}])
    {'rows': 2, 'columns': {'run': {'levels': ['a'], 'codes': [0, 0]}, 'value': [1.5, None]}}
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {"rows": len(rows), "columns": {name: _column([row.get(name) for row in rows]) for name in names}}


def _column(values: Sequence[Any]) -> Any:
    if values and all(isinstance(value, str) for value in values):
        levels = {text: code for code, text in enumerate(dict.fromkeys(values))}
        return {"levels": list(levels), "codes": [levels[text] for text in values]}
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values]


# The charting library as one compressed script, kept between reports because making it takes seconds.

#: What of it the page calls.
_EXPOSED = "window.vegaEmbed = vegaEmbed;"


class Library(NamedTuple):
    """A script that the page unpacks before the first chart is drawn: it is a third as large as it would be."""

    #: Base64 of what gzip makes of the script.
    packed: str
    #: Of the script, as a content security policy has it.
    digest: str


#: No chart can be drawn.
NO_LIBRARY = Library("", "")


@cache
def chart_library() -> Library:
    """Return Vega, Vega-Lite and Vega-Embed, which need nothing from the network; nothing where none is installed."""
    try:
        library = drawing_module("vl_convert")
    except NotInstalled:
        return NO_LIBRARY
    # Other versions of the package bring other scripts.
    wanted = hashlib.sha256(f"{version(DISTRIBUTIONS['vl_convert'])} {_EXPOSED}".encode()).hexdigest()
    kept = _folder() / f"charts-{wanted[:16]}.js"
    try:
        script = kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script = library.javascript_bundle(_EXPOSED)
        _keep(kept, script)
    return Library(base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode(), _digest(script))


def _keep(path: Path, script: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, script.encode())
    except OSError:
        return  # The next report makes it again.


def _folder() -> Path:
    """Return the folder for what can be made again (XDG Base Directory Specification 0.8)."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # Where there is no home, `~` stays as it is and is a folder that cannot be made or does no harm.
    return (given if given.is_absolute() else Path(os.path.expanduser("~/.cache"))) / "deviate"


_PARTS = Path(__file__).parent / "html_parts"

#: Blocks that stand side by side where they follow each other.
_GROUPED = (Answer, Drawing)


def render_html(page: Page, *, live: bool = False) -> str:
    """Return the page; sections without blocks are left out.

    A `live` page asks the server that it came from every few seconds whether it has changed, and nothing else.
    """
    sections = [section for section in page.sections if any(map(_shown, section.blocks))]
    has_drawings = any(map(_has_drawing, (each for section in sections for each in every_block(section.blocks))))
    library = chart_library() if has_drawings or live else NO_LIBRARY
    drawn = bool(library.packed)
    style = _asset("page.css")
    scripts = [_asset("links.js") + _asset("page.js"), *([_asset("live.js")] if live else [])]
    allowed = [*map(_digest, scripts), *([library.digest] if drawn else [])]
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            sections=sections,
            titled=[section for section in sections if section.title],
            identity=_identities(sections),
            style=Markup(style),
            scripts=[Markup(source) for source in scripts],
            library=library.packed,
            policy=_policy(allowed, style, "connect-src 'self'; " if live else ""),
            cards=run_cards(page.runs),
            themes=embeddable({"light": THEMES["light"], "dark": THEMES["dark"]}) if drawn else "",
            drawn=drawn,
            left_out=f"The charts are left out. {WITHOUT_CHARTS}" if has_drawings and not drawn else "",
            live=live,
        )
    )


def every_block(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks and those within them."""
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from every_block(block.blocks)
        elif isinstance(block, ByMetric):
            yield from every_block(inner for panel in block.panels for inner in panel.blocks)


def _has_drawing(block: Block) -> bool:
    return isinstance(block, Drawing) or (isinstance(block, Answer) and block.chart is not None)


#: Words that browsers would break behind their hyphens.
_OPTION = r"(?<!\S)(?:--?[^\W\d][\w-]*|--(?!\S))"

#: A unit of time behind its number.
_UNIT = r"(?: (?:ms|s|min|h)(?!\w)\S*)"

#: `OMP_NUM_THREADS 2`, a variable and its value; both together never are as wide as a phone.
_SETTING = r"[A-Z][A-Z0-9_]{3,30} \d\S{0,15}(?!\S)"

#: `90.18 ± 0.30 s`, `p = 0.03`, `12 min`, `1.40–1.41` and `−1.0 to 0.5`, which readers take for one.
_QUANTITY = rf"(?<!\S)(?:{_SETTING}|\S+(?: [±×<=≤≥] \S+)+{_UNIT}?|\S*\d{_UNIT}|\S*\d\S*(?:–| to )[−\d]\S*)"

_WORD, _PHRASE = re.compile(f"({_OPTION})"), re.compile(f"({_OPTION}|{_QUANTITY})")


def whole(text: str, kept: re.Pattern[str] = _WORD) -> Markup:
    """Return a text whose options, or what else is to be `kept`, stay on one line each.

    >>> print(whole("python train.py --max-epochs 3"))
    python train.py <span class="whole">--max-epochs</span> 3
    """
    pieces = enumerate(kept.split(encodable(clean(text))))
    return Markup("").join(
        Markup('<span class="whole">{}</span>').format(piece) if index % 2 else escape(piece) for index, piece in pieces
    )


def phrases(text: str) -> Markup:
    """Return a text whose quantities stay on one line each, too."""
    return whole(text, _PHRASE)


def prose(text: str) -> Markup:
    """Return a sentence with what is between grave accents as code; quantities stay on one line each.

    >>> print(prose("`deviate logs` shows <them>"))
    <code>deviate logs</code> shows &lt;them&gt;
    >>> print(prose("mean 90.18 ± 0.30 (p = 0.03)"))
    mean <span class="whole">90.18 ± 0.30</span> <span class="whole">(p = 0.03)</span>
    >>> print(prose("MODE fast, VECLIB_MAXIMUM_THREADS 2"))
    MODE fast, <span class="whole">VECLIB_MAXIMUM_THREADS 2</span>
    """
    pieces = enumerate(code_pieces(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(whole(piece)) if index % 2 else phrases(piece) for index, piece in pieces
    )


def grouped(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Yield the name of each kind of block with those of it that stand side by side."""
    for kind, run in groupby(blocks, key=type):
        neighbours = list(run)
        groups = [neighbours] if kind in _GROUPED else [[block] for block in neighbours]
        yield from ((kind.__name__.lower(), group) for group in groups)


def _latex_source(tables: Sequence[Table]) -> str:
    from deviate.report.writers.latex import render_latex

    return render_latex(Page(title="", reader="paper", sections=[Section(slug="tables", blocks=[*tables])]))


def sortable(table: Table) -> bool:
    """Tell whether the rows of a table may change places."""
    return len(table.rows) > 1 and not table.prose and not any(row.notes for row in table.rows)


def known(value: float | None) -> bool:
    """Tell whether rows can be sorted by a number."""
    return value is not None and math.isfinite(value)


def _shown(block: Block) -> bool:
    return not isinstance(block, Strips | Bars)


def _identities(sections: Sequence[Section]) -> Callable[[str], str]:
    taken = Counter(["content", "tip", "themes", "chosen-run", "run-cards", *(section.slug for section in sections)])

    def identity(name: str) -> str:
        taken[name] += 1
        return name if taken[name] == 1 else identity(f"{name}-{taken[name]}")

    return identity


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PARTS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        digest=_digest,
        latex_source=_latex_source,
        chart_data=chart_data,
        grouped=grouped,
        sortable=sortable,
        known=known,
    )
    environment.filters["prose"] = prose
    environment.filters["whole"] = whole
    environment.filters["phrases"] = phrases
    return environment


def _printable(value: object) -> object:
    """Clean every text that a template prints: nothing of a program's output may hide or reorder what follows."""
    return encodable(clean(value)) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _asset(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _policy(scripts: Iterable[str], style: str, more: str = "") -> str:
    """Return a content security policy by which only scripts of these digests run, and `more` is asked for."""
    allowed = " ".join(f"'{digest}'" for digest in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; img-src data:; {more}"
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
