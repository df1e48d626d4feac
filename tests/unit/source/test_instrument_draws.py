"""Calls that draw random numbers, with what they call wrapped."""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from wrapping import expressions

from deviate.core.experiment import Capture, Draw, Metric, Span
from deviate.source.analysis import analyse_project
from deviate.source.edits import Edit, Instrumented, span_of
from deviate.source.overlay import PLACES, instrument_project, instrument_source, plan_edits, skipped_edits


def drawn(source: str, *texts: str) -> Instrumented:
    """Wrap what unparses to one of `texts`."""
    nodes = [node for text in texts for node in expressions(source) if ast.unparse(node) == text]
    nodes.sort(key=lambda node: (node.lineno, node.end_col_offset))
    edits = [Edit(span=span_of(node), before=f"__dv_draw__({number}, ") for number, node in enumerate(nodes)]
    return instrument_source(source, edits)


def wrapped(source: str, *texts: str) -> str:
    """Return the source with the wraps in it."""
    result = drawn(source, *texts)
    assert not result.skipped, result.skipped
    return result.text


def draw(line: int = 1, factor: str = "shuffle", span: Span | None = None, file: str = "train.py") -> Draw:
    return Draw(file=file, line=line, function="f", call="rng.permutation", factor=factor, why="", span=span)


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("i = rng.permutation(n)", "rng.permutation", "i = __dv_draw__(0, rng.permutation)(n)"),
        ("i = (rng.permutation)(n)", "rng.permutation", "i = (__dv_draw__(0, rng.permutation))(n)"),
        ("f(*rand(3), **rand(4))", "rand", "f(*__dv_draw__(0, rand)(3), **__dv_draw__(1, rand)(4))"),
        ("x = [r() for _ in a if r()]", "r", "x = [__dv_draw__(0, r)() for _ in a if __dv_draw__(1, r)()]"),
        ("f = lambda a=r(): r()", "r", "f = lambda a=__dv_draw__(0, r)(): __dv_draw__(1, r)()"),
        ("print(f'{r():.3f}')", "r", "print(f'{__dv_draw__(0, r)():.3f}')"),
        ("del d[r()], r().x", "r", "del d[__dv_draw__(0, r)()], __dv_draw__(1, r)().x"),
        ("d[r()] += r()", "r", "d[__dv_draw__(0, r)()] += __dv_draw__(1, r)()"),
        ("x = torch\\\n  .rand(3)", "torch.rand", "x = __dv_draw__(0, torch\\\n  .rand)(3)"),
        ("assert(r)()", "r", "assert(__dv_draw__(0, r))()"),
        ("x = a if r() else not r()", "r", "x = a if __dv_draw__(0, r)() else not __dv_draw__(1, r)()"),
        ("@cut(r())\ndef f(): pass", "r", "@cut(__dv_draw__(0, r)())\ndef f(): pass"),
        ("def f(a=r()): pass", "r", "def f(a=__dv_draw__(0, r)()): pass"),
        ("async def f(): return await r()", "r", "async def f(): return await __dv_draw__(0, r)()"),
        ("x = r(r(1))", "r", "x = __dv_draw__(0, r)(__dv_draw__(1, r)(1))"),
    ],
)
def test_what_a_call_calls_is_wrapped_in_place(before: str, text: str, after: str) -> None:
    assert wrapped(f"import random\n{before}", text) == f"import random\n{after}"


def test_draws_within_what_a_draw_calls_are_wrapped_inside() -> None:
    text = wrapped("x = torch.rand(3).normal_().uniform_()", "torch.rand", "torch.rand(3).normal_")
    assert text == "x = __dv_draw__(1, __dv_draw__(0, torch.rand)(3).normal_)().uniform_()"


def test_a_metric_and_the_draw_it_starts_with_are_both_wrapped() -> None:
    source = "print(rand(3))"
    call = expressions(source)[2]
    assert ast.unparse(call) == "rand(3)"
    edits = [
        Edit(span=span_of(call), before="__dv__(0, "),
        Edit(span=Span(1, 6, 1, 10), before="__dv_draw__(0, "),
    ]
    for listed in (edits, edits[::-1]):
        result = instrument_source(source, listed)
        assert result.text.endswith("print(__dv__(0, __dv_draw__(0, rand)(3)))")
        assert not result.skipped


def test_wraps_nest_in_a_file_with_more_than_a_thousand_of_them() -> None:
    source = "x = 1\n" * 1100 + "print(rand(3))\n"
    numbers = [node for node in expressions(source) if isinstance(node, ast.Constant) and node.value == 1]
    call = next(node for node in expressions(source) if ast.unparse(node) == "rand(3)")
    edits = [Edit(span=span_of(call), before="__dv__(0, ")]
    edits += [Edit(span=span_of(node), before=f"__dv__({n}, ") for n, node in enumerate(numbers)]
    edits += [Edit(span=Span(1101, 6, 1101, 10), before="__dv_draw__(0, ")]
    result = instrument_source(source, edits)
    assert not result.skipped
    assert result.text.endswith("print(__dv__(0, __dv_draw__(0, rand)(3)))\n")


@pytest.mark.parametrize(
    ("decorator", "is_left"),
    [
        ("@jax.jit", False),
        ("@partial(jax.jit, static_argnums=0)", False),
        ("@jax.pmap", False),
        ("@nnx.jit", False),
        ("@jit", True),
        ("@numba.njit", True),
        ("@torch.compile(dynamic=True)", True),
        ("@torch.jit.script", True),
        ("@tf.function", True),
        ("@torch.no_grad()", False),
    ],
)
def test_what_a_decorator_compiles_is_left_unless_it_only_traces(decorator: str, is_left: bool) -> None:
    result = drawn(f"{decorator}\ndef f(key):\n    return normal(key)\n", "normal")
    assert [skipped.reason for skipped in result.skipped] == (["compiled"] if is_left else [])


@pytest.mark.parametrize(("source", "text"), [("x = r", "r"), ("map(r, x)", "r"), ("@r(3)\ndef f(): pass", "r")])
def test_only_what_is_called_in_an_expression_is_wrapped(source: str, text: str) -> None:
    result = drawn(source, text)
    assert [skipped.reason for skipped in result.skipped] == ["not-a-callee"]
    assert result.text == source


def test_a_draw_has_its_place_as_its_id_and_one_without_a_span_is_left() -> None:
    draws = [draw(span=Span(1, 0, 1, 3)), draw(span=None), draw(span=Span(2, 0, 2, 3), file="data.py")]
    edits = plan_edits([], None, draws)
    assert {file: [edit.before for edit in listed] for file, listed in edits.items()} == {
        "train.py": ["__dv_draw__(0, "],
        "data.py": ["__dv_draw__(2, "],
    }


def test_what_is_left_is_said_apart_from_metrics(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("@numba.njit\ndef f():\n    print(rand(3))\n")
    metric = Metric(
        name="loss", variable="loss", expression="rand(3)", file="train.py", line=3, end_line=3, function="f",
        sink="print", kind="loss", direction="lower", aggregate="last", confidence=1.0, why="",
        capture=Capture(how="value", span=Span(3, 10, 3, 17)),
    )  # fmt: skip
    result = instrument_project(tmp_path, [metric], None, [draw(span=Span(3, 10, 3, 14))])
    because = "train.py, line 3: the code around it is compiled by a decorator, which would meet the wrap"
    assert skipped_edits(result) == [f"not recorded: {because}", f"draws with the code around it: {because}"]


PROGRAM = """
'''Draws in every place.'''
import functools, random
from random import Random, gauss as bell

rng = Random(3)
class Sampler:
    def __init__(self, n, rng): self.n, self.rng = n, rng
    def __iter__(self):
        order = list(range(self.n)); self.rng.shuffle(order)
        yield from order
    @property
    def one(self): return self.rng.choice([1, 2, 3])
def weights_init(n, draw=rng.random): return [draw() for _ in range(n)]
def batches(items, *, size=rng.randint(1, 3), **rest):
    for i in Sampler(len(items), rng):
        yield items[i], bell(0, 1)
class Broken(Random):
    def random(self): raise ValueError("from inside")
random.seed(7)
w = weights_init(3); later = functools.partial(random.gauss, 0, 1); drawn = list(map(random.random and bell, [0], [1]))
for epoch in range(3):
    order = random.sample(range(3), 3)
    loss = 0.0
    for x, noise in batches(w):
        w[order[0]] -= 0.1 * x * random.uniform(
            0,
            1) if random.random() < 0.5 else noise
        loss += x ** 2
    print(f"epoch {epoch} loss {loss:.6f} {random.random():.3f} {rng.random()=}", later(), Sampler(3, rng).one)
try:
    Broken().random()
except ValueError as error:
    print(repr(error), error.__traceback__.tb_lineno)
print(w, drawn, sorted(name for name in globals() if "dv" in name))
"""


def run(text: str) -> str:
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile(text, "train.py", "exec", dont_inherit=True), {"__name__": "__main__"})
    return output.getvalue()


@pytest.fixture
def builtins_as_they_were() -> Any:
    yield
    for name in PLACES:
        vars(builtins).pop(name, None)


@pytest.mark.parametrize("draw", [lambda i, f: f, lambda i, f: lambda *args, **kwargs: f(*args, **kwargs)])
def test_a_program_does_the_same_with_all_its_draws_wrapped(
    tmp_path: Path, builtins_as_they_were: None, draw: Callable[..., Any]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    findings = analyse_project(tmp_path, Path("train.py"))
    result = instrument_project(tmp_path, findings.metrics, findings.main_loop, findings.draws)["train.py"]
    assert not result.skipped
    assert sum(edit.function == "__dv_draw__" for edit in result.done) == len(findings.draws) == 9
    assert result.text.count("\n") == PROGRAM.count("\n")
    for name, place in PLACES.items():
        vars(builtins)[name] = lambda *args, place=place: args[place]
    vars(builtins)["__dv_draw__"] = draw
    assert run(result.text) == run(PROGRAM)
