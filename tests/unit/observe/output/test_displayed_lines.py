"""Lines are those that a terminal shows in the end, with the offset where their text begins."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress
from tqdm import tqdm

from deviate.observe.output.text import displayed_lines, reported_lines


def shown(data: bytes) -> list[bytes]:
    return [line for _, line in displayed_lines(data)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\n\r\nb", [b"a", b"", b"b"]),
        (b"loss 1\rloss 22\rloss 3\n", [b"loss 32"]),
        (b"abc\x08\x08X\n", [b"aXc"]),
        (b"\x1b[32mgreen\x1b[0m\n", [b"green"]),
        (b"abc\r\x1b[Kd\n", [b"d"]),
        (b"\xff\xfe 5\n", [b"\xff\xfe 5"]),
        (b"one\ntwo\x1b[1A\rONE\x1b[1B\rTWO\n", [b"ONE", b"TWO"]),
        (b"old\n\x1b[2J\x1b[Hnew\n", [b"old", b"new"]),
        (b"\x1b]0;title\x07text\n", [b"text"]),
    ],
)
def test_a_line_is_what_is_left_of_it(data, lines):
    assert shown(data) == lines


def test_a_rewritten_line_begins_where_its_last_state_does():
    assert list(displayed_lines(b"x\n1/9\r2/9\r9/9\ny\n")) == [(0, b"x"), (10, b"9/9"), (14, b"y")]


def test_nested_bars_of_tqdm_end_as_they_stand():
    log = io.StringIO()
    for _ in tqdm(range(2), desc="outer", file=log, position=0, ncols=60, mininterval=0):
        for _ in tqdm(range(3), desc="inner", file=log, position=1, leave=False, ncols=60, mininterval=0):
            pass
    lines = [line for line in shown(log.getvalue().encode()) if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith(b"outer: 100%")


def test_a_display_of_rich_counts_once():
    log = io.StringIO()
    with Progress(console=Console(file=log, force_terminal=True, width=70)) as progress:
        tasks = [progress.add_task(name, total=5) for name in ("load", "fit")]
        for _ in range(5):
            for task in tasks:
                progress.update(task, advance=1)
            progress.refresh()
    lines = [line.decode() for line in shown(log.getvalue().encode()) if line.strip()]
    assert [line.split()[0] for line in lines] == ["load", "fit"]
    assert all("100%" in line for line in lines)


PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), max_size=12)


@given(st.lists(st.lists(PLAIN, min_size=1, max_size=4), max_size=5))
def test_writing_a_line_again_changes_nothing_but_its_offset(lines):
    # Each state is padded over the one before, as progress bars do it.
    log = "".join(
        "\r".join([*(state.ljust(40) for state in states[:-1]), states[-1].ljust(40)]) + "\n" for states in lines
    )
    assert [line.decode().rstrip() for line in shown(log.encode())] == [states[-1].rstrip() for states in lines]


CONTROLS = b"\r|\x08|\n|\x1b[A|\x1b[K|\x1b[9C|\x1b|\x1b[2J|\x1b[H|\x1b[99999B|ab|1.5|\xe2\x96\x88|\xff".split(b"|")


@given(st.lists(st.sampled_from(CONTROLS), max_size=60))
def test_no_sequence_of_controls_raises(parts):
    data = b"".join(parts)
    for start, line in displayed_lines(data):
        assert 0 <= start <= len(data)
        assert b"\n" not in line


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    list(displayed_lines(data))


TRACEBACK = '{0}Traceback (most recent call last):\n{0}  File "a.py", line 3\n{0}    acc = 0.5\n{0}KeyError: 3\n'


@pytest.mark.parametrize("before", ["", "[rank0]: ", "(pid=12) "])
def test_tracebacks_report_nothing(before):
    log = f"loss 1\n{TRACEBACK.format(before)}\nDuring its handling:\n{TRACEBACK.format(before)}loss 2"
    assert [line for _, line in reported_lines(log.encode()) if b"loss" in line or b"3" in line] == [
        b"loss 1",
        b"loss 2",
    ]


def test_behind_a_group_of_exceptions_the_log_goes_on():
    log = '  + Exception Group Traceback (most recent call last):\n  |   File "a.py", line 3\n  +-+----\nloss 4'
    assert [line for _, line in reported_lines(log.encode())] == [b"loss 4"]
