"""It is noted from which lines of the program text is printed, and the output stays the bare program's."""

from __future__ import annotations

import pytest
from programs import Outcome, Run

PROGRAM = """
import logging, sys
from helper import show
logging.basicConfig(format="%(message)s")
for epoch in range(3):
    show("epoch", epoch)
    print("parts", end=" ")
    print("of a line", epoch)
    logging.warning("late %d", epoch)
print("end")
"""

HELPER = "def show(*things):\n    print(*things, flush=True)\n"


@pytest.fixture
def helper(work):
    (work / "helper.py").write_text(HELPER)


def noted(outcome: Outcome) -> list[tuple[int, int, tuple[tuple[str, int], ...]]]:
    """Stream, bytes before the line, and the lines of the program that led there."""
    stacks = [tuple(map(tuple, stack)) for event in outcome.of("reports") for stack in event["stacks"]]
    return [(stream, at, stacks[stack]) for event in outcome.of("reports") for stream, at, _, stack in event["lines"]]


def test_each_line_is_noted_with_the_lines_that_led_there(run: Run, python: str, helper: None) -> None:
    outcome = run(PROGRAM, python=python, reports=True)
    shown = (("program.py", 6), ("helper.py", 2))
    assert noted(outcome)[:4] == [
        (-2, 0, shown),
        (-2, 8, (("program.py", 7),)),
        (-3, 0, (("program.py", 9),)),
        (-2, 26, shown),
    ]
    assert [stack for stream, _, stack in noted(outcome) if stream == -3] == 3 * [(("program.py", 9),)]
    assert noted(outcome)[-1] == (-2, 78, (("program.py", 10),))


def test_an_empty_part_of_a_line_begins_no_line(run: Run) -> None:
    assert [at for _, at, _ in noted(run("print('a', '', 'b')\nprint('c')", reports=True))] == [0, 5]


def test_the_output_is_the_bare_program_s(run: Run, python: str, helper: None) -> None:
    bare = run(PROGRAM, python=python, runtime=False)
    watched = run(PROGRAM, python=python, reports=True)
    assert (watched.stdout, watched.stderr) == (bare.stdout, bare.stderr)


def test_unless_it_is_asked_for_nothing_is_noted(run: Run, helper: None) -> None:
    assert run(PROGRAM).of("reports") == []


def test_a_program_that_prints_without_end_is_noted_a_limited_number_of_times(run: Run) -> None:
    outcome = run("for i in range(100000):\n    print(i)", reports=True)
    assert 32 <= len(noted(outcome)) <= 400
    assert outcome.stdout.splitlines() == [str(i) for i in range(100000)]


def test_a_forked_child_notes_its_own_lines(run: Run) -> None:
    outcome = run(
        "import os\nprint('parent', flush=True)\n"
        "if os.fork() == 0:\n    print('child', flush=True)\n    os._exit(0)\nos.wait()",
        reports=True,
    )
    lines = [event["lines"] for event in outcome.of("reports")]
    assert [len(each) for each in lines] == [1, 1]
    assert len(outcome.events_of) == 2


#: What is no text is refused as by the bare program, and a stream that is another one is left alone.
@pytest.mark.parametrize(
    "source",
    [
        "import sys\ntry:\n    sys.stdout.write(3)\nexcept TypeError as error:\n    print(error)",
        "import sys\ntry:\n    sys.stdout.write()\nexcept TypeError as error:\n    print(type(error))",
        "import sys, io\nsys.stdout = io.StringIO()\nprint('kept')\nsys.__stdout__.write(sys.stdout.getvalue())",
        "import sys\nprint('before')\nsys.stdout.close()",
        "import sys\nprint(type(sys.stdout), sys.stdout.write('ä') , sys.stdout.encoding)",
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out: print(1)\nprint(out.tell())",
    ],
)
def test_a_program_sees_the_streams_that_it_knows(run: Run, python: str, source: str) -> None:
    bare, watched = run(source, python=python, runtime=False), run(source, python=python, reports=True)
    assert (watched.stdout, watched.stderr, watched.status) == (bare.stdout, bare.stderr, bare.status)


def test_an_exception_of_a_handler_reaches_the_program(run: Run) -> None:
    outcome = run(
        "import signal, time\n"
        "class Late(Exception): pass\n"
        "def late(*_): raise Late\n"
        "signal.signal(signal.SIGALRM, late)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "try:\n"
        "    while True: print('x', flush=True)\n"
        "except Late:\n"
        "    print('late')",
        reports=True,
    )
    assert outcome.stdout.endswith("late\n")
    assert outcome.status == 0
