"""Tracebacks with the paths and lines that the author of a project knows."""

import traceback

from deviate.replicate.tracebacks import own_lines

ORIGINAL = "import random\nvalue = random.random() / 0\n"
INSTRUMENTED = "import random\nvalue = __dv_draw__(5, random.random)() / 0\n"


def crash(path):
    """Return the lines of the traceback that running a file prints."""
    names = {"__dv_draw__": lambda site, call: call}
    try:
        exec(compile(path.read_text(), str(path), "exec"), names)
    except ZeroDivisionError:
        return traceback.format_exc().splitlines()
    raise AssertionError("it did not crash")


def folders(tmp_path):
    for name, text in (("copy", INSTRUMENTED), ("source", ORIGINAL)):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "train.py").write_text(text)
    return tmp_path / "copy", tmp_path / "source"


def test_the_authors_file_line_and_source_are_shown(tmp_path):
    copy, source = folders(tmp_path)
    lines = crash(copy / "sub" / "train.py")
    assert "__dv_draw__" in "\n".join(lines)
    assert list(own_lines(lines, copy, source))[-3:] == [
        '  File "sub/train.py", line 2, in <module>',
        "    value = random.random() / 0",
        "ZeroDivisionError: float division by zero",
    ]


def test_other_lines_stay_as_they_are(tmp_path):
    copy, source = folders(tmp_path)
    lines = [
        '  File "/usr/lib/python3.11/random.py", line 5, in random',
        "    return __dv_draw__(1)",
        "           ^^^^^^^^^^^^^^",
        "    ~~~",
        f'  File "{copy}/gone.py", line 7',
        "    x = __dv_draw__(1)",
        "loss nan",
    ]
    found = list(own_lines(lines, copy, source))
    assert found == [*lines[:4], '  File "gone.py", line 7', *lines[5:]]
