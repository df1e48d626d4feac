"""Print on terminals: of any width, with or without colour, in Unicode or ASCII, and as plain text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding

from deviate.report.escape import clean
from deviate.report.page import Page
from deviate.report.strips import ASCII_BLOCKS, BLOCKS

# Lines of sentences do not break within a quantity: a number and its unit, mean and SD, an interval, p, a setting.

#: Stands for a blank at which no line breaks. A no-break space would not do: `rich` breaks there. No text has this
#: noncharacter, and it takes one cell.
JOINT = "\ufdd0"

_UNITS = "%|[µn]?s|ms|min|h|days?|points?|SDs?|[kMGT]i?B|B|[kM]?Wh|W|k?J|[kM]?Hz"

#: Blanks within a quantity, with signs as `console` writes them in ASCII, too.
_WITHIN = re.compile(
    # 2.5 s, also before what ends a sentence.
    rf"(?<=\d) (?=(?:{_UNITS})(?![\w/]))"
    # mean ± SD.
    r"| (?=(?:±|\+-) )|(?<=±) |(?<= \+-) "
    # OMP_NUM_THREADS 2.
    r"|(?<=[A-Z_]{4}) (?=\d)"
    # lr × width.
    r"| (?=× )|(?<=×) "
    # p = 0.03.
    r"|(?<=\S) (?=[=<>≤≥≈]=? [−-]?\d)|(?<= [=<>≤≥≈]) (?=[−-]?\d)|(?<= [<>]=) (?=[−-]?\d)"
    # [1.2, 3.4].
    r"|(?<=,) (?=[−-]?[\d.e−-]+\])"
    # 1.2% to 3.4%, and 95% CI 0.1–0.3.
    r"|(?<=[\d%]) (?=to [−-]?\d)|(?<=[\d%] to) (?=[−-]?\d)|(?<=%) (?=CI\b)|(?<=\bCI) (?=[−-]?\d)"
)


def unbroken(text: str) -> str:
    """Return a sentence whose quantities no line break takes apart, until `with_blanks` gives the blanks back.

    >>> unbroken("6 runs of 2.5 s, p = 0.03").replace(JOINT, "~")
    '6 runs of 2.5~s, p~=~0.03'
    >>> unbroken("VECLIB_MAXIMUM_THREADS 2").replace(JOINT, "~")
    'VECLIB_MAXIMUM_THREADS~2'
    """
    return _WITHIN.sub(JOINT, text)


def with_blanks(text: str) -> str:
    """Return a text that was laid out with plain blanks in it, to be read and copied."""
    return text.replace(JOINT, " ")


def packed(notes: Iterable[str], width: int) -> list[str]:
    """Put sentences on one line where it has the room.

    >>> packed(["One.", "Two.", "and three"], 12), packed(["no end", "Two."], 12)
    (['One. Two.', 'and three'], ['no end', 'Two.'])
    """
    lines: list[str] = []
    for note in notes:
        if lines and lines[-1].endswith(".") and cell_len(lines[-1]) + 1 + cell_len(note) <= width:
            note = f"{lines.pop()} {note}"
        lines.append(note)
    return lines


#: Width of the text where no terminal gives one.
PLAIN_WIDTH = 100

#: Sentences wider than this are hard to read.
WIDEST_TEXT = 100

#: Cells by which blocks are indented below the title that they belong to.
INDENT = 2

#: For terminals that cannot show more than ASCII: a sign each, so that what is laid out keeps its width.
_ASCII = str.maketrans(
    {"–": "-", "−": "-", "·": ".", "•": "o", "●": "O", "✓": "+", "✗": "x", "─": "-", "≠": "x", "≈": "~", "×": "x"}
    | {"▓": "=", "▒": ":", "░": "-"}
    | dict(zip(BLOCKS, ASCII_BLOCKS, strict=True))
)

#: What takes more room then, and so is replaced before it is laid out.
_ASCII_TEXT = str.maketrans({"±": "+-", "…": "...", "≥": ">=", "≤": "<=", "→": "->"})

_TRAILING_BLANKS = re.compile(r" +$", re.MULTILINE)


class Room(NamedTuple):
    """Cells of a line: for tables, and for sentences."""

    width: int
    text: int

    @classmethod
    def of(cls, console: Console) -> Room:
        """Return the room on a console."""
        return cls(console.width, min(console.width, WIDEST_TEXT))

    @property
    def within(self) -> Room:
        """What is left where everything is indented once."""
        return Room(self.width - INDENT, self.text - INDENT)

    def narrow(self, content: RenderableType) -> RenderableType:
        """Keep lines of text short on wide terminals."""
        return Padding(content, (0, self.width - self.text, 0, 0), expand=False)


def plain_text(draw: Callable[[Console], None], width: int = PLAIN_WIDTH) -> str:
    """Return what `draw` prints on a console of that width without colour."""
    stream = io.StringIO()
    draw(Console(file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={}))
    return stream.getvalue()


class Close(NamedTuple):
    """What stands below the part before it without a blank line."""

    part: RenderableType


def print_parts(parts: Iterable[RenderableType | Close], console: Console) -> None:
    """Print the parts with a blank line between them."""
    with console.capture() as captured:
        for index, part in enumerate(parts):
            if index and not isinstance(part, Close):
                console.print()
            shown = part.part if isinstance(part, Close) else part
            console.print(shown, markup=False, highlight=False, emoji=False)
    # Cells are filled up with blanks, which would be copied along with the text.
    text = _TRAILING_BLANKS.sub("", with_blanks(captured.get()))
    if console.options.ascii_only:
        # The sign for what is cut off is the console's own, one cell wide.
        text = _ascii(text.translate(_ASCII).replace("…", ">"))
    console.file.write(text)


def page_in_ascii(page: Page) -> Page:
    """Return the page in ASCII: names that are not are escaped, and take the room that they then need."""
    return msgspec.convert(_in_ascii(msgspec.to_builtins(page)), Page)


def _in_ascii(part: Any) -> Any:
    if isinstance(part, str):
        # What cleaning leaves of a hidden character is not ASCII either.
        lines = (clean(line) for line in part.split("\n"))
        return _ascii("\n".join(lines).translate(_ASCII).translate(_ASCII_TEXT))
    if isinstance(part, list | tuple):
        return [_in_ascii(each) for each in part]
    return {key: _in_ascii(each) for key, each in part.items()} if isinstance(part, dict) else part


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")
