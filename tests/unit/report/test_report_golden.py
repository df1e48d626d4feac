"""The layout of each format, byte for byte; see `golden` for how to write the files anew."""

import pytest
import report_cases as cases
from golden import check_golden

FILES = {
    "usual-80.txt": lambda: cases.render_terminal(cases.usual(), 80),
    "usual-120.txt": lambda: cases.render_terminal(cases.usual(), 120),
    "usual-screen.txt": lambda: cases.render_screen(cases.usual()),
    "sources-screen.txt": lambda: cases.render_screen(cases.sources()),
    "troubled-80.txt": lambda: cases.render_terminal(cases.troubled(), 80),
    "troubled.md": lambda: cases.render_markdown(cases.troubled()),
    "sources-80.txt": lambda: cases.render_terminal(cases.sources(), 80),
    "sources.md": lambda: cases.render_markdown(cases.sources()),
    "single.json": lambda: cases.render_json(cases.single()),
}


@pytest.mark.parametrize("name", FILES)
def test_layout_is_as_it_was(name):
    check_golden(f"report/{name}", FILES[name]())
