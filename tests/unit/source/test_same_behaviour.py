"""An instrumented program does what the program does: by property, over generated programs."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import io
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from generated_programs import programs
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from wrapping import expressions

from deviate.source.edits import Edit, span_of
from deviate.source.overlay import PLACES, instrument_source

INJECTED = Path(__file__).parents[3] / "src" / "deviate" / "runtime" / "injected"
FILE = "<training>"


@dataclass(frozen=True)
class Behaviour:
    """What can be seen of a program from outside."""

    output: str
    error: str
    #: Line and function of each of the program's own frames in the traceback.
    frames: list[tuple[int | None, str]]


def behave(source: str) -> Behaviour:
    """Run `source` and look at it."""
    output = io.StringIO()
    error: BaseException | None = None
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, FILE, "exec", dont_inherit=True)
        try:
            exec(code, {"__name__": "__main__"})
        except Exception as raised:  # noqa: BLE001 - whatever the program raises is what it does
            error = raised
    trace = traceback.extract_tb(error.__traceback__) if error else []
    frames = [(frame.lineno, frame.name) for frame in trace if frame.filename == FILE]
    return Behaviour(output.getvalue(), repr(error), frames)


@contextlib.contextmanager
def without_runtime() -> Iterator[None]:
    """Take away what a runtime has put into builtins."""
    try:
        yield
    finally:
        for name in PLACES:
            vars(builtins).pop(name, None)


@contextlib.contextmanager
def with_runtime() -> Iterator[Path]:
    """Put the runtime's functions into builtins; yield the folder it writes to."""
    sys.path.insert(0, str(INJECTED))
    try:
        process_module: Any = importlib.import_module("deviate_runtime.process")
        wraps: Any = importlib.import_module("deviate_runtime.wraps")
    finally:
        sys.path.remove(str(INJECTED))
    with tempfile.TemporaryDirectory() as folder, without_runtime():
        process = process_module.Process({"records": folder, "metrics": []})
        process.streams = None  # nothing is switched
        process.events.begin()
        wraps.install(process)
        yield Path(folder)
        process.records.forget()


def draw_edits(data: st.DataObject, source: str) -> list[Edit]:
    """Wrap some of all expressions of `source`, nested ones among them, and some loops."""
    nodes = [node for node in expressions(source) if node.lineno > 1]
    chosen = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=25, unique=True))
    afters = st.sampled_from((")", ", lambda: split)", ", lambda: unbound)"))
    edits = [
        Edit(span=span_of(node), before=f"__dv__({number}, ", after=data.draw(afters))
        for number, node in enumerate(chosen)
    ]
    edits += [
        Edit(span=span_of(node.func), before="__dv_draw__(0, ")
        for node in chosen
        if isinstance(node, ast.Call) and data.draw(st.booleans())
    ]
    edits += [
        Edit(span=span_of(node.iter), before="__dv_loop__(")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.For)
    ]
    edits += [
        Edit(span=span_of(node.test), before="__dv_while__(")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.While)
    ]
    return edits


@examples(100)
@given(source=programs(), data=st.data())
def test_output_errors_and_lines_are_the_same(source: str, data: st.DataObject) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = instrument_source(source, draw_edits(data, source))
    assert len(result.text.splitlines()) == len(source.splitlines())
    assert {skipped.reason for skipped in result.skipped} <= {
        "no-expression",
        "not-a-value",
        "position-inexact",
    }
    bare = behave(source)
    with with_runtime() as folder:
        assert behave(result.text) == bare
        for line in next(folder.glob("events-*")).read_text().splitlines():
            assert json.loads(line)["event"] in ("start", "reserved", "note", "notes-left-out", "name", "loop")


@pytest.mark.filterwarnings("ignore")
@examples(50)
@given(source=programs(), data=st.data())
def test_instructions_have_the_columns_of_the_source(source: str, data: st.DataObject) -> None:
    result = instrument_source(source, draw_edits(data, source))
    sys.path.insert(0, str(INJECTED))
    try:
        with_columns = importlib.import_module("deviate_runtime.given").with_columns
    finally:
        sys.path.remove(str(INJECTED))
    code = with_columns(compile(result.text, FILE, "exec", dont_inherit=True), result.columns)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr | ast.stmt)]
    spans = [(node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) for node in nodes]
    known = [*positions(compile(source, FILE, "exec", dont_inherit=True)), *spans]
    begins, ends = {(place[0], place[2]) for place in known}, {(place[1], place[3]) for place in known}
    # Python marks a method that is called from its name on.
    begins.update(
        (node.end_lineno or 0, (node.end_col_offset or 0) - len(node.attr))
        for node in nodes
        if isinstance(node, ast.Attribute)
    )
    # What is passed beside a value stands nowhere in the source.
    moved = {place for place in positions(code) if place[2] != place[3]}
    assert {place for place in moved if (place[0], place[2]) not in begins or (place[1], place[3]) not in ends} == set()


def positions(code: CodeType) -> set[tuple[int | None, ...]]:
    """Return what the instructions of code, and of all code within, are for; constants folded are none."""
    found = {place for place in code.co_positions() if None not in place}
    return found.union(*(positions(each) for each in code.co_consts if isinstance(each, CodeType)))


@examples(50)
@given(source=programs(), data=st.data())
def test_with_its_wraps_taken_out_the_text_is_the_source(source: str, data: st.DataObject) -> None:
    source = "".join(line for line in source.splitlines(keepends=True) if "=}" not in line and "= !" not in line)
    try:
        compile(source, FILE, "exec", dont_inherit=True)
    except SyntaxError:
        return  # the line left out was all there was of a block
    edits = [edit for edit in draw_edits(data, source) if edit.function == "__dv__"]
    result = instrument_source(source, edits)
    pieces = iter(result.text)
    assert all(character in pieces for character in source)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@examples(25)
@given(source=programs(), data=st.data())
def test_newlines_make_no_difference(newline: str, source: str, data: st.DataObject) -> None:
    edits = draw_edits(data, source)
    plain = instrument_source(source.encode(), edits)
    other = instrument_source(source.replace("\n", newline).encode(), edits)
    assert other.data == plain.data.replace(b"\n", newline.encode())
