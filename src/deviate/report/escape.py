"""Make text of users and their programs safe to print."""

from __future__ import annotations

import json
import re
import unicodedata

#: Escape sequences that terminals obey: CSI (colours, cursor), OSC (titles, links), and two-byte ones.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|\x9b[0-?]*[ -/]*[@-~]")

#: Characters that change the order or the visibility of those after them ("Trojan source", CVE-2021-42574).
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

#: A joiner is part of words in several scripts and of emoji.
_HARMLESS = {"\u200c", "\u200d"}

_MARKDOWN = re.compile(
    r"([\\`*\[\]<>|~$&])|(?<![^\W_])(_)|(_)(?![^\W_])|^([#+-])(?=\s)|^(\d+)(?=[.)]\s)|^(#(?=$)|=(?==+$)|-(?=-+$))"
)

#: What spreadsheets take for the beginning of a formula, in the forms of East Asian keyboards, too.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")

#: In JSON a character can be written by its number.
_NOT_ASCII = re.compile(r"[^\n\x20-\x7e]")


def clean(text: str) -> str:
    r"""Return one printable line: no escape sequence, no control character, nothing that hides or reorders text.

    Of a line redrawn with carriage returns (a progress bar) the last drawing is kept.

    >>> clean("\x1b[31mloss\x1b[0m\tis\x07 nan"), clean(" 10%|#   |\r100%|####|")
    ('loss is� nan', '100%|####|')
    """
    if text.isprintable():
        # Nearly all texts are, and pages have many.
        return text
    drawn = _ANSI.sub("", text).rstrip("\r\n")
    last = drawn.rpartition("\r")[2] if "\r" in drawn else drawn
    return "".join(map(_printable, last))


def markdown(text: str) -> str:
    r"""Return one line that Markdown shows as `text` and nothing else.

    >>> print(markdown("val_acc|<b>*top*</b>"))
    val_acc\|\<b\>\*top\*\</b\>
    """
    return _MARKDOWN.sub(
        lambda match: "\\" + match.group(0) if not match.group(5) else match.group(0) + "\\", clean(text)
    )


def code_pieces(text: str) -> list[str]:
    """Split a sentence at its grave accents: every second piece is what one types, see `words.code`.

    Where accents have no partner, or nothing between them, the sentence is one piece.

    >>> code_pieces("`python a.py` was run"), code_pieces("a ` b")
    (['', 'python a.py', ' was run'], ['a ` b'])
    """
    pieces = clean(text).split("`")
    whole = len(pieces) % 2 == 0 or not all(piece.strip() for piece in pieces[1::2])
    return [clean(text)] if whole else pieces


def markdown_prose(text: str) -> str:
    r"""Return a sentence as `markdown` does, with what one types as code.

    >>> print(markdown_prose("`python a_b.py *` gave a_loss|*"))
    `python a_b.py *` gave a_loss\|\*
    """
    pieces = enumerate(code_pieces(text))
    return "".join(f"`{piece}`" if index % 2 else markdown(piece) for index, piece in pieces)


def markdown_code(lines: list[str]) -> list[str]:
    """Return a fenced block that no line of `lines` can close."""
    cleaned = [clean(line) for line in lines]
    longest = max((len(run) for line in cleaned for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *cleaned, fence]


def csv_cell(text: str) -> str:
    """Return a text as a spreadsheet shows it and does not compute it: what looks like a formula follows an apostrophe.

    Numbers must not be given to it: a minus begins a formula, too.

    >>> csv_cell("=1+1"), csv_cell("val acc"), csv_cell("@loss")
    ("'=1+1", 'val acc', "'@loss")
    """
    # A tab or a return before it is a space, or gone, in the cleaned text. Quoted cells may have lines.
    cleaned = encodable("\n".join(map(clean, text.split("\n"))))
    return f"'{cleaned}" if _FORMULA.match(cleaned) or text[:1] in ("\t", "\r") else cleaned


def json_shown(text: str) -> str:
    r"""Return JSON in which no string holds a character that a terminal obeys; it means the same.

    >>> print(json_shown('"é\x9b1m"'))
    "é\u009b1m"
    """
    return _NOT_ASCII.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    hidden = unicodedata.category(character) in _HIDDEN and character not in _HARMLESS
    return json.dumps(character)[1:-1] if hidden else character


def encodable(text: str) -> str:
    """Return `text` with lone surrogates, which no encoding can write, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _printable(character: str) -> str:
    if character in "\t\n\x0b\x0c\u2028\u2029":
        return " "
    if character in _HARMLESS or unicodedata.category(character) not in _HIDDEN:
        return character
    return "\ufffd"
