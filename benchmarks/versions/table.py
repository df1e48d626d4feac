"""The matrix as a Markdown table."""

from __future__ import annotations

from typing import Any

#: Failures that a line of the table names; the JSON has all.
NAMED = 4

_PARTS = {"tool": "Deviate itself", "training": "the training"}


def table(rows: list[dict[str, Any]]) -> str:
    """Return a table with a line for each cell."""
    lines = ["| versions of | Python | packages | ran | outcome |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    return "\n".join(lines)


def cells(row: dict[str, Any]) -> list[str]:
    """Return the texts of one line."""
    versions = dict(row["versions"])
    python = versions.pop("python", row["python"])
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    more = len(row["detail"]) - NAMED
    named = [*row["detail"][:NAMED], *([f"and {more} more"] if more > 0 else [])]
    detail = "; ".join(escape(line) for line in named)
    return [
        _PARTS[row["part"]],
        python,
        packages,
        f"`{row['ran']}`",
        row["outcome"] + (f": {detail}" if detail else ""),
    ]


def escape(text: str) -> str:
    """Return `text` as a cell of a table may hold it."""
    return text.replace("|", "\\|")
