"""The iterations of the main loop are counted, and the loop does not notice."""

from __future__ import annotations

import textwrap

import pytest
from programs import Run

TICK = -1


def test_records_carry_the_iteration_they_fall_in(run: Run, python: str) -> None:
    source = """
    __dv__(0, 9.0)
    for epoch in __dv_loop__(range(3)):
        __dv__(0, float(epoch))
    __dv__(0, 10.0)
    """
    outcome = run(textwrap.dedent(source), python=python)
    assert [(r.iteration, r.value) for r in outcome.records if r.metric == 0] == [
        (-1, 9.0),
        (0, 0.0),
        (1, 1.0),
        (2, 2.0),
        (2, 10.0),
    ]
    assert outcome.values(TICK) == [0.0, 1.0, 2.0]
    elapsed = [record.elapsed for record in outcome.records]
    assert elapsed == sorted(elapsed)


def test_a_while_loop_counts_as_often_as_its_body_runs(run: Run) -> None:
    source = "n = 3\nwhile __dv_while__(n):\n    n -= 1\nelse:\n    print('else')"
    outcome = run(source)
    assert (outcome.stdout, outcome.values(TICK)) == ("else\n", [0.0, 1.0, 2.0])


def test_a_loop_entered_again_goes_on_counting(run: Run) -> None:
    source = "for fold in range(2):\n    for epoch in __dv_loop__([1, 2]):\n        __dv__(0, 1.0)"
    assert run(source).values(TICK) == [0.0, 1.0, 2.0, 3.0]


def test_a_generator_is_closed_when_the_loop_is_left(run: Run) -> None:
    source = """
    def batches():
        try:
            yield 1
            yield 2
        finally:
            print("closed")
    for batch in __dv_loop__(batches()):
        break
    print("after")
    """
    bare = run(textwrap.dedent(source).replace("__dv_loop__", ""), runtime=False)
    assert run(textwrap.dedent(source)).stdout == bare.stdout == "closed\nafter\n"


def test_errors_of_the_iterator_pass_without_a_frame_of_the_runtime(run: Run, python: str) -> None:
    source = """
    def batches():
        yield 1
        raise ValueError("bad batch")
    for batch in {}(batches()):
        pass
    """
    source = textwrap.dedent(source)
    outcome = run(source.format("__dv_loop__"), python=python)
    assert outcome.stderr.replace("__dv_loop__", "") == run(source.format(""), python=python, runtime=False).stderr
    assert outcome.status == 1


def test_a_loop_over_what_cannot_be_iterated_raises_as_it_would(run: Run) -> None:
    outcome = run("for x in __dv_loop__(3):\n    pass")
    assert "TypeError: 'int' object is not iterable" in outcome.stderr
    assert "deviate" not in outcome.stderr


@pytest.mark.parametrize(
    ("source", "items"),
    [
        ("for fold in range(2):\n    for epoch in __dv_loop__(range(1, 4)):\n        pass", [1, 1]),
        ("for fold in 'ab':\n    for _ in __dv_loop__(enumerate('xyz', fold == 'b')):\n        break", [0, 1]),
        ("for name in __dv_loop__(['a', 'b']):\n    pass", [None]),
        # A `while` loop that is left by its condition, and one that is left by `break`.
        ("for fold in 'ab':\n    n = 2\n    while __dv_while__(n):\n        n -= 1", [None, None]),
        (
            "for fold in 'ab':\n    n = 0\n    while __dv_while__(True, lambda: n):\n        n += 1\n"
            "        if n == 3:\n            break",
            [0, 0],
        ),
        ("while __dv_while__(True, lambda: unbound):\n    break", [None]),
        ("for fold in range(40):\n    for epoch in __dv_loop__(range(2)):\n        pass", [0] * 32),
    ],
)
def test_each_time_that_the_loop_is_entered_is_written(run: Run, source: str, items: list[int | None]) -> None:
    entries = run(source).of("loop")
    assert [event["item"] for event in entries] == items
    assert [event["number"] for event in entries] == list(range(1, len(items) + 1))
