"""The text of an instrumented source."""

from __future__ import annotations

import ast
import sys

import pytest
from wrapping import edits_at, instrumented, wrapped

from deviate.core.experiment import Span
from deviate.source.edits import SKIP_REASONS, Edit
from deviate.source.overlay import instrument_source


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("print(x, y)", "x", "print(__dv__(0, x), y)"),
        ("print('%.3f' % (x))", "x", "print('%.3f' % (__dv__(0, x)))"),
        ("print(f'{x:.3f}')", "x", "print(f'{__dv__(0, x):.3f}')"),
        ("print(f'{x!r:>{w}}')", "w", "print(f'{x!r:>{__dv__(0, w)}}')"),
        ("print(f'{f\"{x}\"}')", "x", "print(f'{f\"{__dv__(0, x)}\"}')"),
        ("print(f'é{x}')", "x", "print(f'é{__dv__(0, x)}')"),
        ("print(f'{ {1: x}[1] }')", "{1: x}[1]", "print(f'{ __dv__(0, {1: x}[1]) }')"),
        ("print(f'{d[\"a\"]}')", "d['a']", "print(f'{__dv__(0, d[\"a\"])}')"),
        ("print(sum(x for x in y))", "(x for x in y)", "print(sum(__dv__(0, (x for x in y))))"),
        ("print(f((x for x in y), 1))", "(x for x in y)", "print(f(__dv__(0, (x for x in y)), 1))"),
        ("return_ = a, b", "(a, b)", "return_ = __dv__(0, (a, b))"),
        ("print((a, b))", "(a, b)", "print(__dv__(0, ((a, b))))"),
        ("print(x := 3)", "(x := 3)", "print(__dv__(0, (x := 3)))"),
        ("print(*x, **y)", "x", "print(*__dv__(0, x), **y)"),
        ("print(end=x)", "x", "print(end=__dv__(0, x))"),
        ("print((1)if(x)else(2))", "x", "print((1)if(__dv__(0, x))else(2))"),
        ("print(not(x))", "x", "print(not(__dv__(0, x)))"),
        ("print(not(x).y)", "x.y", "print(not __dv__(0, (x).y))"),
        ("print(-x ** 2)", "x", "print(-__dv__(0, x) ** 2)"),
        ("print(x.y.z)", "x.y", "print(__dv__(0, x.y).z)"),
        ("f = lambda: x", "lambda: x", "f = __dv__(0, (lambda: x))"),
        ("print(x if y else z)", "x if y else z", "print(__dv__(0, x if y else z))"),
        ("print(a[b, c])", "(b, c)", "print(a[__dv__(0, (b, c))])"),
        ("print('a' 'b')", "'ab'", "print(__dv__(0, 'a' 'b'))"),
        ("\nwith a as b, c(x): pass", "x", "\nwith a as b, c(__dv__(0, x)): pass"),
        ("print(a +\\\n  b)", "a + b", "print(__dv__(0, a +\\\n  b))"),
        ("print(a # why\n  + b)", "a + b", "print(__dv__(0, a # why\n  + b))"),
        ("print(f'''{\nx\n}''')", "x", "print(f'''{\n__dv__(0, x)\n}''')"),
        ("x = 'doc'", "'doc'", "x = __dv__(0, 'doc')"),
    ],
)
def test_an_expression_is_wrapped_in_place(before: str, text: str, after: str) -> None:
    assert wrapped(before, text) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print(f'{x=}')", "print(f'x={__dv__(0, x)!r}')"),
        ("print(f'a{ x = :.2f}b')", "print(f'a x = { __dv__(0, x) :.2f}b')"),
        ("print(f'{x=!s}')", "print(f'x={__dv__(0, x)!s}')"),
        ("print(f'{(x)=}')", "print(f'(x)={(__dv__(0, x))!r}')"),
        ("print(f'{ {1: x}=}')", "print(f' {{1: x}}={ {1: __dv__(0, x)}!r}')"),
    ],
)
def test_a_field_that_shows_its_own_text_goes_on_showing_it(before: str, after: str) -> None:
    text = wrapped(before, "x")
    assert text == after.replace(") :", ") :")
    assert eval_print(before) == eval_print(text)


def eval_print(source: str) -> str:
    output: list[str] = []
    exec(source, {"x": 0.5, "print": output.append, "__dv__": lambda number, value: value})
    return output[0]


def test_wraps_of_one_expression_nest() -> None:
    source = "print(x)"
    (edit,) = edits_at(source, "x")
    outer = Edit(span=edit.span, before="__dv__(7, ", after=", lambda: split)")
    assert "print(__dv__(7, __dv__(0, x), lambda: split))" in instrument_source(source, [edit, outer]).text
    assert "print(__dv__(0, __dv__(7, x, lambda: split)))" in instrument_source(source, [outer, edit]).text


def test_wraps_of_nested_expressions_nest() -> None:
    assert wrapped("print(a + b * c)", "a", "b * c", "a + b * c", "c") == (
        "print(__dv__(2, __dv__(0, a) + __dv__(1, b * __dv__(3, c))))"
    )


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("for e in range(3): pass", "range(3)", "for e in __dv_loop__(range(3)): pass"),
        ("for e in 1, 2: pass", "(1, 2)", "for e in __dv_loop__((1, 2)): pass"),
        ("while n < 3: pass", "n < 3", "while __dv_while__(n < 3): pass"),
        ("while(n := f()): pass", "(n := f())", "while(__dv_while__((n := f()))): pass"),
    ],
)
def test_the_header_of_a_loop_is_wrapped(before: str, text: str, after: str) -> None:
    function = "__dv_loop__" if before.startswith("for") else "__dv_while__"
    result = instrumented(f"start = 0\n{before}", text, function=function)
    assert result.text == f"start = 0\n{after}"


@pytest.mark.parametrize(
    ("source", "text", "function", "reason"),
    [
        ("x = 1", "x", "__dv__", "no-expression"),
        ("'''doc'''", "'doc'", "__dv__", "not-a-value"),
        ("x: y = 1", "y", "__dv__", "not-a-value"),
        ("print(*x)", "*x", "__dv__", "not-a-value"),
        ("x = [y for y in z]", "z", "__dv_loop__", "not-a-loop-header"),
        ("async def f():\n  async for x in y: pass", "y", "__dv_loop__", "not-a-loop-header"),
        ("if x: pass", "x", "__dv_while__", "not-a-loop-header"),
        ("@numba.njit(parallel=True)\ndef f():\n  print(x)", "x", "__dv__", "compiled"),
        ("@partial(jax.jit, static_argnums=0)\ndef f():\n  print(x)", "x", "__dv__", "compiled"),
        ("@torch.compile\ndef f():\n  def g():\n    print(x)", "x", "__dv__", "compiled"),
        ("print(f'''{x\n=}''')", "x", "__dv__", "debug-field"),
    ],
)
def test_what_cannot_be_wrapped_is_left_out_with_its_reason(source: str, text: str, function: str, reason: str) -> None:
    edits = edits_at(source, text, function=function) or [Edit(span=Span(1, 0, 1, 1), before="__dv__(0, ")]
    if reason == "no-expression":
        edits = [Edit(span=Span(1, 1, 1, 3), before="__dv__(0, ")]
    result = instrument_source(source, edits)
    assert [skipped.reason for skipped in result.skipped] == [reason] * len(edits)
    assert result.text == source
    assert SKIP_REASONS[reason] in result.skipped[0].message


@pytest.mark.parametrize(
    ("source", "text", "reason", "after"),
    [
        ("print(f'{a, b}')", "(a, b)", "position-inexact", "print(f'{__dv__(0, (a, b))}')"),
    ],
)
def test_what_f_strings_do_not_show_before_python_312_is_wrapped_since(
    source: str, text: str, reason: str, after: str
) -> None:
    result = instrumented(source, text)
    if sys.version_info < (3, 12):
        assert [skipped.reason for skipped in result.skipped] == [reason]
        assert result.text == source
    else:
        assert not result.skipped
        assert result.text == after


def test_a_span_that_is_assigned_to_is_left_out() -> None:
    result = instrument_source("x = 1", [Edit(span=Span(1, 0, 1, 1), before="__dv__(0, ")])
    assert [skipped.reason for skipped in result.skipped] == ["not-a-value"]


def test_one_edit_left_out_keeps_the_others() -> None:
    source = "print(x)\nx = y"
    bad = Edit(span=Span(2, 0, 2, 1), before="__dv__(9, ")
    result = instrument_source(source, [bad, *edits_at(source, "x")])
    assert [skipped.edit for skipped in result.skipped] == [bad]
    assert "print(__dv__(0, x))\nx = y" in result.text


@pytest.mark.parametrize("source", ["print(x", "print x", "x.cuda(async=True)", "x = 1\0", "\tx = 1\n  y = 2"])
def test_a_file_that_does_not_parse_is_left_as_it_is(source: str) -> None:
    edit = Edit(span=Span(1, 6, 1, 7), before="__dv__(0, ")
    result = instrument_source(source.encode(), [edit])
    assert (result.data, result.done) == (source.encode(), [])
    assert [skipped.reason for skipped in result.skipped] == ["unparsable"]


@pytest.mark.parametrize("data", [b"# coding: nonsense\nprint(x)", b"print('\xff', x)", b"# coding: utf-8\n'\xe9'"])
def test_a_file_in_another_encoding_than_it_says_is_left_as_it_is(data: bytes) -> None:
    result = instrument_source(data, [Edit(span=Span(2, 6, 2, 7), before="__dv__(0, ")])
    assert (result.data, [skipped.reason for skipped in result.skipped]) == (data, ["unreadable"])


ENCODINGS = [
    ("utf-8", "", "\n"),
    ("utf-8", "", "\r\n"),
    ("utf-8", "", "\r"),
    ("utf-8-sig", "", "\n"),
    ("latin-1", "# -*- coding: latin-1 -*-", "\n"),
    ("cp1252", "# vim: set fileencoding=cp1252 :", "\r\n"),
]


@pytest.mark.parametrize(("encoding", "cookie", "newline"), ENCODINGS)
def test_bytes_outside_the_wraps_stay(encoding: str, cookie: str, newline: str) -> None:
    lines = [cookie, "'''é'''", "\f", "def f(x):", "\tprint('ö', x,", "\t  'ü')  # ö", "f(3)", ""]
    source = newline.join(lines).encode(encoding)
    result = instrumented(source, "x", "'ö'")
    assert not result.skipped
    expected = newline.join(lines).replace("'ö', x", "__dv__(1, 'ö'), __dv__(0, x)")
    assert result.data.decode(encoding) == expected
    assert ast.parse(result.data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if y: print(x)", "if y: print(__dv__(0, x))"),
        ("@f(x)\ndef g(): pass", "@f(__dv__(0, x))\ndef g(): pass"),
        ("class A(B, metaclass=x): z = 1", "class A(B, metaclass=__dv__(0, x)): z = 1"),
        ("with y: print(f'\"{x}\"')", "with y: print(f'\"{__dv__(0, x)}\"')"),
    ],
)
def test_nothing_but_the_wraps_is_added(before: str, after: str) -> None:
    assert wrapped(before, "x") == after


def test_no_edits_leave_the_file_as_it_is() -> None:
    assert instrument_source(b"print(x)\r\n", []).data == b"print(x)\r\n"


def test_beside_a_deeply_nested_expression_wraps_are_made():
    deep = "total = " + " + ".join(["1"] * 1500) + "\n"
    source = f"{deep}x = 2\nprint(x)\n"
    result = instrument_source(source, [Edit(span=Span(3, 6, 3, 7), before="__dv__(0, ")])
    assert not result.skipped
    assert deep in result.text
    assert "print(__dv__(0, x))" in result.text
