"""The layout of each format, byte for byte.

After a change that is meant: ``DEVIATE_GOLDEN=write pytest tests/unit/report/test_report_golden.py``,
and read the difference.
"""

import os
from pathlib import Path

import pytest
import report_cases as cases

from deviate.report.writers.json import render_json
from deviate.report.writers.markdown import render_markdown
from deviate.report.writers.terminal import render_terminal

GOLDEN = Path(__file__).parents[2] / "golden" / "report"

FILES = {
    "usual-80.txt": lambda: render_terminal(cases.usual(), 80),
    "usual-120.txt": lambda: render_terminal(cases.usual(), 120),
    "troubled-80.txt": lambda: render_terminal(cases.troubled(), 80),
    "troubled.md": lambda: render_markdown(cases.troubled()),
    "sources-80.txt": lambda: render_terminal(cases.sources(), 80),
    "sources.md": lambda: render_markdown(cases.sources()),
    "single.json": lambda: render_json(cases.single()),
}


@pytest.mark.parametrize("name", FILES)
def test_layout_is_as_it_was(name):
    text, path = FILES[name](), GOLDEN / name
    if os.environ.get("DEVIATE_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
