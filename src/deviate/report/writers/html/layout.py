"""Lay the sections of a page out as one file that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from deviate.report.escape import clean, code_pieces
from deviate.report.figures import THEMES
from deviate.report.writers.html.bundle import chart_library
from deviate.report.writers.html.charts import chart_data, embeddable
from deviate.report.writers.html.section import Page, Said, Section

_HERE = Path(__file__).parent


def lay_out(title: str, page: Page[Said], sections: Sequence[Section[Said]]) -> str:
    """Return the page; sections with nothing to show are left out."""
    environment = _environment()
    contents = [(section, section.content(page)) for section in sections]
    parts = [(section, _body(environment, section, content)) for section, content in contents if content is not None]
    drawn = bool(page.figures)
    script, style = _asset("page.js"), _asset("page.css")
    scripts = [chart_library(), script] if drawn else [script]
    return environment.get_template("page.html").render(
        title=title,
        parts=parts,
        style=Markup(style),
        scripts=[Markup(source) for source in scripts],
        policy=_policy(scripts, style),
        themes=embeddable({"light": THEMES["light"], "dark": THEMES["dark"]}) if drawn else "",
        drawn=drawn,
    )


def _body(environment: jinja2.Environment, section: Section[Any], content: Mapping[str, Any]) -> Markup:
    name = section.template or f"{section.slug}.html"
    return Markup(environment.get_template(name).render(content))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["chart_data"] = chart_data
    environment.filters["prose"] = prose
    return environment


def _printable(value: object) -> object:
    """Clean every text that a template prints: nothing of a program's output may hide or reorder what follows."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def prose(text: str) -> Markup:
    """Return a sentence with what is between grave accents as code.

    Examples
    --------
    >>> print(prose("`deviate logs` shows <them>"))
    <code>deviate logs</code> shows &lt;them&gt;
    """
    pieces = enumerate(code_pieces(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else escape(piece) for place, piece in pieces
    )


@cache
def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str], style: str) -> str:
    """Return a content security policy by which only what is written here runs, and nothing is asked for."""
    allowed = " ".join(f"'{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
