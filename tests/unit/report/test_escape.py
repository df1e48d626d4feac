"""Text of users and programs does nothing but show."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from deviate.report.escape import clean, code_pieces, encodable, markdown, markdown_code, markdown_prose


@given(st.text(alphabet=st.characters()))
def test_clean_text_is_one_printable_line_and_stays_as_it_is(text):
    found = clean(text)
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in found)
    assert len(found.splitlines()) <= 1
    assert clean(found) == found


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_printable_text_of_any_script_is_left_alone(text):
    assert clean(text) == text


def test_terminal_commands_are_taken_out():
    assert clean("\x1b[1;31mError\x1b[0m \x1b]0;title\x07done\x1b[2J") == "Error done"
    assert clean("\x9b31mred") == "red"


def test_text_cannot_hide_or_reorder_itself():
    assert clean("acc\u202egnp.exe") == "acc\ufffdgnp.exe"


def test_of_a_redrawn_line_the_last_drawing_is_kept():
    assert clean("epoch 1\repoch 2\r\n") == "epoch 2"


def test_markdown_shows_the_text_itself():
    assert markdown("val_acc") == "val_acc"
    assert markdown("_top_ *1* [x](y) a|b `c` <i> $x$ &amp;") == (
        r"\_top\_ \*1\* \[x\](y) a\|b \`c\` \<i\> \$x\$ \&amp;"
    )
    assert markdown("# 1") == r"\# 1"
    assert markdown("1. first") == r"1\. first"


@given(st.text(alphabet="ab|\n\r", min_size=1))
def test_markdown_cells_stay_cells(text):
    assert "|" not in markdown(text).replace("\\|", "")
    assert "\n" not in markdown(text)


@given(st.lists(st.text(alphabet="`a\n~")))
def test_no_line_closes_its_fence(lines):
    first, *inside, last = markdown_code(lines)
    assert first == f"{last}text"
    assert all(last not in line for line in inside)


@given(st.text(alphabet=st.characters()))
def test_encodable_text_can_be_encoded(text):
    encodable(text).encode()


@given(st.text(alphabet="`a |<\\*\x1b[m\r"))
def test_what_stands_beside_code_is_escaped(text):
    pieces = code_pieces(text)
    outside = "".join(markdown_prose(text).split(f"`{piece}`", 1)[0] for piece in pieces[1:2])
    assert all(piece.strip() and "`" not in piece for piece in pieces[1::2])
    assert outside == "".join(map(markdown, pieces[:1] if len(pieces) > 1 else []))
    assert len(pieces) > 1 or markdown_prose(text) == markdown(text)
