"""The layout of each format, byte for byte; see `golden` for how to write the files anew."""

import pytest
import report_cases as cases
from golden import check_golden

from deviate.report.writers.json import render_json
from deviate.report.writers.markdown import render_markdown
from deviate.report.writers.terminal import render_terminal

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
    check_golden(f"report/{name}", FILES[name]())
