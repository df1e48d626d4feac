"""The clauses of a text: its pieces between marks that separate, a call kept whole."""

from __future__ import annotations

import re

#: ``D(G(z))`` is a name, not a remark in parentheses.
_CALLS = re.compile(r"\b\w+\((?:[^()\s]|\([^()\s]*\))*\)")


def clauses_of(text: str, breaks: re.Pattern[str], trim: str) -> list[str]:
    """Split a text at `breaks` that are not inside a call; take the marks in `trim` off the ends.

    Examples
    --------
    >>> clauses_of("step 3, D(G(z)): ", re.compile(r"[(),]+"), " :")
    ['step 3', 'D(G(z))']
    """
    shielded = _CALLS.sub(lambda call: call[0].replace("(", "\x01").replace(")", "\x02"), text)
    clauses = (clause.strip(trim) for clause in breaks.split(shielded.rstrip(trim)))
    return [clause.replace("\x01", "(").replace("\x02", ")") for clause in clauses]
