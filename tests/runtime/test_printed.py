"""Each iteration notes how much was printed before it, and the output is the bare program's."""

from __future__ import annotations

import textwrap

import pytest
from programs import Outcome, Run

TICK, STDOUT, STDERR = -1, -2, -3

LOOP = """
import sys
print("begin")
for epoch in __dv_loop__(range(4)):
    print("epoch", epoch, "verlorene Länge", 0.1 * epoch)
    if epoch % 2:
        print("warning", epoch, file=sys.stderr, flush=True)
print("end")
"""


def lines_by_iteration(outcome: Outcome, stream: int = STDOUT) -> dict[int, list[str]]:
    """The lines of a stream by the iteration that its sizes say they are of; what is left is of the last one."""
    text = (outcome.stdout if stream == STDOUT else outcome.stderr).encode()
    lines, start = {}, 0
    for identity, iteration, size in outcome.sizes:
        if identity == stream:
            lines[iteration - 1] = text[start:size].decode().splitlines()
            start = size
    return {**lines, len(outcome.values(TICK)) - 1: text[start:].decode().splitlines()}


def test_lines_belong_to_the_iteration_that_printed_them(run: Run, python: str) -> None:
    outcome = run(LOOP, python=python)
    assert lines_by_iteration(outcome) == {
        -1: ["begin"],
        0: ["epoch 0 verlorene Länge 0.0"],
        1: ["epoch 1 verlorene Länge 0.1"],
        2: ["epoch 2 verlorene Länge 0.2"],
        3: [f"epoch 3 verlorene Länge {0.1 * 3}", "end"],
    }
    assert lines_by_iteration(outcome, STDERR) == {1: ["warning 1"], 3: ["warning 3"]}


def test_an_iteration_before_which_nothing_was_printed_has_no_note(run: Run) -> None:
    outcome = run("for step in __dv_loop__(range(100)):\n    if step == 49: print('half')")
    assert outcome.sizes == [(STDOUT, 50, 5)]


#: Programs whose output depends on when it is written out.
MIXED = {
    "parts of lines": "for i in __dv_loop__(range(5)):\n    print(i, end=' ')",
    "a child between": (
        "import os\nfor i in __dv_loop__(range(3)):\n    print('x' * 3000)\n    os.system('echo child')"
    ),
    "flushed at times": "for i in __dv_loop__(range(9)):\n    print(i, flush=i % 3 == 0)",
    "bytes": "import sys\nfor i in __dv_loop__(range(3)):\n    print(i)\n    sys.stdout.buffer.write(b'\\xff\\n')",
    "the descriptor": "import os\nfor i in __dv_loop__(range(3)):\n    print(i)\n    os.write(1, b'raw\\n')",
    "much": "for i in __dv_loop__(range(50)):\n    print('y' * 997, i)",
    "another encoding": (
        "import sys\nsys.stdout.reconfigure(encoding='utf-16')\nfor i in __dv_loop__(range(3)):\n    print('ä', i)"
    ),
    "forked": (
        "import os\nfor i in __dv_loop__(range(3)):\n    print(i)\n    pid = os.fork()\n"
        "    if not pid: os._exit(0)\n    os.waitpid(pid, 0)"
    ),
    "closed": "import sys\nfor i in __dv_loop__(range(3)):\n    print(i)\n    if i == 1: sys.stdout.close(); break",
    "closed, and on": (
        "import os\nprint(1, flush=True)\nos.close(1)\nfor i in __dv_loop__(range(3)):\n    pass\nos._exit(0)"
    ),
    "another stream": (
        "import io, sys\nkept, sys.stdout = sys.stdout, io.StringIO()\nfor i in __dv_loop__(range(3)):\n"
        "    print(i)\n    kept.write(sys.stdout.getvalue())"
    ),
}


@pytest.mark.parametrize("source", MIXED.values(), ids=MIXED.keys())
def test_the_output_is_written_out_as_ever(run: Run, source: str) -> None:
    bare = run(source.replace("__dv_loop__", ""), runtime=False)
    outcome = run(source)
    assert (outcome.stdout, outcome.stderr, outcome.status) == (bare.stdout, bare.stderr, bare.status)
    assert not outcome.of("note")


def test_output_led_elsewhere_is_not_noted(run: Run) -> None:
    source = """
    import os
    os.execvp("sh", ["sh", "-c", "python program.py again | cat"]) if len(__import__("sys").argv) == 1 else None
    for i in __dv_loop__(range(3)):
        print(i)
    """
    outcome = run(textwrap.dedent(source))
    assert (outcome.stdout, outcome.sizes) == ("0\n1\n2\n", [])
