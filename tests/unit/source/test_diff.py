"""The difference between two texts."""

from __future__ import annotations

from deviate.source.overlay import unified_diff


def test_a_changed_line_is_shown_with_its_file() -> None:
    diff = unified_diff("pkg/train.py", "a\nprint(x)\n", "a\nprint(__dv__(0, x))\n")
    assert diff.splitlines() == [
        "--- a/pkg/train.py",
        "+++ b/pkg/train.py",
        "@@ -1,2 +1,2 @@",
        " a",
        "-print(x)",
        "+print(__dv__(0, x))",
    ]


def test_equal_texts_differ_in_nothing() -> None:
    assert unified_diff("a.py", "x\n", "x\n") == ""


def test_a_missing_last_newline_is_told() -> None:
    assert unified_diff("a.py", "x", "y").splitlines()[-4:] == [
        "-x",
        "\\ No newline at end of file",
        "+y",
        "\\ No newline at end of file",
    ]


def test_a_form_feed_is_no_line() -> None:
    assert "-a\fb\n" in unified_diff("a.py", "a\fb\n", "c\n")
