r"""Text and numbers as LaTeX shows them, whoever wrote them.

Letters that pdfLaTeX has no glyph for by itself are put into ``\deviateother``, which `PREAMBLE` defines: LuaLaTeX and
XeLaTeX print them, pdfLaTeX prints a question mark for each instead of stopping.
"""

from __future__ import annotations

import re

from deviate.report.escape import clean, code_pieces, encodable
from deviate.report.numbers import UNKNOWN

#: What a fragment needs before its first use of `latex`.
PREAMBLE = (
    r"\providecommand{\deviateother}[2]"
    r"{\ifdefined\directlua#1\else\ifdefined\XeTeXversion#1\else#2\fi\fi}"
)

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # Some languages of babel give these another meaning.
    '"': r"\symbol{34}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "µ": r"$\mu$",
    "°": r"\textdegree{}",
    "η": r"$\eta$",
    "²": "$^2$",
}

#: Signs that TeX draws as one where they follow each other, such as the two hyphens of an option.
_LIGATURES = "-,'!?"

#: Letters beside ASCII that pdfLaTeX knows in every font encoding.
_LATIN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿß"

_OTHER = re.compile(rf"([^\x20-\x7e{_LATIN}±−×–—…µ°η²]+)")

#: What is mathematics in a sentence: a divisor, a p-value, and the letter of "p-values".
_MATHS = re.compile(r"(?<![\w.])(n - 1(?![\w.])|p [=<] \d+(?:\.\d+)?(?:e-?\d+)?(?!\w)|p(?=-values?\b))")

#: Numbers, intervals and p-values; all else is text.
_NUMERIC = re.compile(r"<?[-−–±.,%\d e+]*(?: to [-−.\de]+)?")

_NUMBER = re.compile(r"(?<![\w.])(-?)(\d[\d.,]*)(?:e(-?\d+))?")


def latex(text: str) -> str:
    r"""Return one line that LaTeX shows as `text` and that does nothing else.

    Examples
    --------
    >>> print(latex("val_acc 100% of {x}\\input{y}"))
    val\_acc 100\% of \{x\}\textbackslash{}input\{y\}
    >>> print(latex("--epochs"), latex("точ"))
    -{}-epochs \deviateother{точ}{???}
    >>> print(latex("partial η²"))
    partial $\eta$$^2$
    >>> print(latex("[1] a*"))
    {}[1] a*
    """
    pieces = _OTHER.split(encodable(clean(text)))
    # Every second piece is a match of `_OTHER`.
    written = "".join(_others(piece) if index % 2 else _known(piece) for index, piece in enumerate(pieces))
    # A bracket or a star would belong to the command before it: the end of a row, a rule, an item.
    return f"{{}}{written}" if written.startswith(("[", "*")) else written


def latex_prose(text: str) -> str:
    r"""Return a sentence as `latex` does, with what one types in typewriter and what is mathematics as such.

    Examples
    --------
    >>> print(latex_prose("`python a_b.py` has divisor n - 1 and p < 1.5e-7."))
    \texttt{python a\_b.py} has divisor $n-1$ and $p<1.5\times10^{-7}$.
    """
    pieces = enumerate(code_pieces(text))
    return "".join(rf"\texttt{{{latex(piece)}}}" if index % 2 else _with_maths(piece) for index, piece in pieces)


def _with_maths(text: str) -> str:
    # Every second piece is a match of `_MATHS`.
    return "".join(_math(piece) if index % 2 else latex(piece) for index, piece in enumerate(_MATHS.split(text)))


def _math(number: str) -> str:
    digits, _, power = number.replace(" ", "").partition("e")
    return rf"${digits}\times10^{{{int(power)}}}$" if power else f"${digits}$"


def number(text: str) -> str:
    r"""Return a number, an interval or a p-value, as `report.numbers` writes them, in LaTeX.

    Examples
    --------
    >>> print(number("-0.5 to 1.2e-7"), number("0.1–0.3"), number("<0.0001"), number("13%"))
    $-0.5$ to $1.2\times10^{-7}$ 0.1--0.3 $<$0.0001 13\%
    """
    if text == UNKNOWN:
        return "--"
    if not _NUMERIC.fullmatch(text):
        return latex(text)
    signs = {"–": "--", "±": r"$\pm$", "%": r"\%", "<": "$<$"}
    return "".join(signs.get(sign, sign) for sign in _NUMBER.sub(_figures, text.replace("−", "-")))


def _figures(match: re.Match[str]) -> str:
    minus, digits, power = match.groups()
    if power is None:
        return f"${minus}{digits}$" if minus else digits
    return rf"${minus}{digits}\times10^{{{int(power)}}}$"


def _known(text: str) -> str:
    signs = []
    for before, sign in zip(" " + text, text, strict=False):
        apart = "{}" if sign == before and sign in _LIGATURES else ""
        signs.append(apart + _SPECIAL.get(sign, sign))
    return "".join(signs)


def _others(text: str) -> str:
    return rf"\deviateother{{{text}}}{{{'?' * len(text)}}}"
