"""Lines of sentences do not break within a quantity: a number and its unit, mean and SD, an interval, p, a setting."""

from __future__ import annotations

import re

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
    # 1.2% to 3.4%, and 95% CI 0.1–0.3.
    r"|(?<=[\d%]) (?=to [−-]?\d)|(?<=[\d%] to) (?=[−-]?\d)|(?<=%) (?=CI\b)|(?<=\bCI) (?=[−-]?\d)"
)


def unbroken(text: str) -> str:
    """Return a sentence whose quantities no line break takes apart, until `with_blanks` gives the blanks back.

    Examples
    --------
    >>> unbroken("6 runs of 2.5 s, p = 0.03").replace(JOINT, "~")
    '6 runs of 2.5~s, p~=~0.03'
    >>> unbroken("VECLIB_MAXIMUM_THREADS 2").replace(JOINT, "~")
    'VECLIB_MAXIMUM_THREADS~2'
    """
    return _WITHIN.sub(JOINT, text)


def with_blanks(text: str) -> str:
    """Return a text that was laid out with plain blanks in it, to be read and copied."""
    return text.replace(JOINT, " ")
