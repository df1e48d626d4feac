"""Pages of made-up experiments and comparisons, and what a reader without scripts finds in them."""

from __future__ import annotations

import math
import types
import typing
from functools import cache
from html.parser import HTMLParser
from typing import Any, Literal, get_args, get_origin

import msgspec
import numpy as np
import pandas as pd
import report_cases as cases
from compared_sides import side, sides
from msgspec import structs

from deviate.experiment import IMPORTED
from deviate.report.comparison.build import build_comparison
from deviate.report.comparison.inputs import Asked
from deviate.report.comparison.parts import Comparison
from deviate.report.parts import Document
from deviate.report.writers.html.page import render_comparison_html, render_html

#: Ends of elements and comments, handlers, templates, and what other languages take for code.
ATTACK = (
    "</script></style></title></textarea><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
    '<!--"`${window.hacked=1}`{{7*7}}{% x %}&lt;\u2028\u202e a.b[0]["c"]\\ datum.x\x00'
)

#: Iterations of the learning curves.
EPOCHS = 12


def records_of(document: Document) -> pd.DataFrame:
    """Return learning curves that end in the values of the document."""
    rng = np.random.default_rng(3)
    rows = [
        (variant.variant, run, metric.name, epoch, 0.5 * epoch, value * (1 + falling * rng.random()))
        for variant in document.variants
        for metric in variant.metrics
        if metric.kind != "speed"
        for run, value in zip(metric.runs, metric.values, strict=True)
        for epoch, falling in enumerate(np.linspace(1, 0, EPOCHS))
    ]
    frame = pd.DataFrame(rows, columns=["variant", "run", "metric", "iteration", "elapsed_s", "value"])
    return frame.astype({"run": "int64", "iteration": "int64", "elapsed_s": "float64", "value": "float64"})


def page(found: Document | Comparison) -> str:
    if isinstance(found, Comparison):
        return render_comparison_html(found)
    return render_html(found, lambda: records_of(found))


def scheduled(document: Document) -> Document:
    """Say of each run when it began and beside which others."""
    variants = [
        structs.replace(
            variant,
            runs=[
                structs.replace(
                    run, started=f"2026-03-01T12:{run.index % 60:02d}:00+00:00", host="node1", slot=run.index % 2
                )
                for run in variant.runs
            ],
        )
        for variant in document.variants
    ]
    return structs.replace(document, variants=variants)


@cache
def imported() -> Document:
    document = cases.document({IMPORTED: {"test acc": [96.9, 97.2, 96.1, math.nan]}})
    again = structs.replace(document.reproduce, command="deviate import results.csv")
    return structs.replace(document, reproduce=again)


@cache
def comparison(n: int = 8, **asked: Any) -> Comparison:
    return build_comparison(sides(n), Asked(**asked), "deviate compare baseline proposed")


@cache
def ranked() -> Comparison:
    compared = [*sides(), side("third", sides(seed=4)[0].metrics)]
    return build_comparison(compared, Asked(), "deviate compare baseline proposed third")


#: What there is a page of: each kind of experiment, and comparisons.
KINDS = {
    "one variant": lambda: scheduled(cases.usual()),
    "arms and sources": lambda: scheduled(cases.sources()),
    "failures and NaN": cases.troubled,
    "single run": cases.single,
    "identical runs": cases.identical,
    "none completed": cases.none_completed,
    "not started": cases.not_started,
    "only NaN": cases.all_nan,
    "many metrics": lambda: cases.crowded(40),
    "imported": imported,
    "comparison": comparison,
    "comparison of few runs": lambda: comparison(2),
    "comparison of three": ranked,
}


@cache
def said(kind: str) -> Document | Comparison:
    return KINDS[kind]()


@cache
def page_of(kind: str) -> str:
    return page(said(kind))


@cache
def outline_of(kind: str) -> Outline:
    return Outline(page_of(kind))


def hostile(said: Any) -> Any:
    """Return a document with the attack at the end of every text that is not one of a few words."""
    return _attacked(said, type(said))


#: Fields that hold what the statistics say of a metric, and names they are looked up by.
OWN = {"contrast", "correction"}


def _attacked(value: Any, kind: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        hints = {name: hint for name, hint in typing.get_type_hints(type(value)).items() if name not in OWN}
        fields = [name for name in value.__struct_fields__ if name in hints]
        return structs.replace(value, **{name: _attacked(getattr(value, name), hints[name]) for name in fields})
    if get_origin(kind) is Literal or (isinstance(value, str) and "Literal" in str(kind)):
        return value
    if isinstance(value, str):
        return value + ATTACK
    inner = next((each for each in get_args(kind) if each is not type(None)), Any)
    if get_origin(kind) in (types.UnionType, typing.Union):
        return _attacked(value, inner)
    if isinstance(value, dict):
        return {_key(key, value): _attacked(item, (*get_args(kind), Any, Any)[1]) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_attacked(item, inner) for item in value)
    return value


def _key(key: Any, mapping: dict[Any, Any]) -> Any:
    """Leave names of tests and effects, which are looked up."""
    named = all(isinstance(item, msgspec.Struct) for item in mapping.values())
    return key + ATTACK if isinstance(key, str) and not named else key


class Outline(HTMLParser):
    """What a page consists of, as a reader without scripts sees it."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open[-1] == tag, f"</{tag}> ends <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open:
            return
        if self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.open[-1] != "style":
            self.texts.append((self.open[-1], data))
        if self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(data for _, data in self.texts).split())

    def attributes(self, name: str) -> list[str]:
        return [found for _, attributes in self.elements if (found := attributes.get(name)) is not None]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
