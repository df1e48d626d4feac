"""Tracebacks with the paths that the author of a project knows."""

from deviate.runs.snapshot.working_copy import named_in_project


def test_files_of_the_copy_are_named_as_in_the_project(tmp_path):
    copy = tmp_path / "copy"
    lines = [
        f'  File "{copy}/sub/train.py", line 2, in <module>',
        "    value = random.random() / 0",
        "            ^^^^^^^^^^^^^^^^^^^",
        "ZeroDivisionError: float division by zero",
    ]
    assert list(named_in_project(lines, copy)) == ['  File "sub/train.py", line 2, in <module>', *lines[1:]]


def test_other_lines_stay_as_they_are(tmp_path):
    lines = [
        '  File "/usr/lib/python3.11/random.py", line 5, in random',
        "    return __dv_draw__(1)",
        f"File {tmp_path}/copy/train.py was read",
        "loss nan",
    ]
    assert list(named_in_project(lines, tmp_path / "copy")) == lines
