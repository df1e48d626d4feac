"""Texts that must stay as they were.

After a change that is meant, ``DEVIATE_GOLDEN=write pytest tests/golden tests/unit/report/test_report_golden.py``
writes the files anew; read the difference and say in the commit why it is right.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def check_golden(name: str, text: str) -> None:
    """Compare `text` with the golden file `name`, a path below ``tests/golden``; a mismatch shows the difference."""
    path = FOLDER / name
    if os.environ.get("DEVIATE_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    before = path.read_bytes().decode() if path.exists() else ""
    if text == before:
        return
    difference = difflib.unified_diff(
        before.split("\n"), text.split("\n"), f"golden/{name}", "what came out", lineterm=""
    )
    pytest.fail("the output is another one than before\n" + "\n".join(difference), pytrace=False)
