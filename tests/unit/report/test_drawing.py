"""The core runs without the packages that draw, and says what to type where one is missing."""

import re
import sys
from pathlib import Path

import page_cases as pages
import pytest
import report_cases as cases

import deviate
from deviate.core.errors import NotInstalled
from deviate.report.figures import DISTRIBUTIONS, write_figures
from deviate.report.topics.curves import experiment_figures
from deviate.report.writers import html as bundle
from deviate.report.writers.notebook import Figures

SOURCES = sorted(Path(deviate.__file__).parent.rglob("*.py"))

IMPORT = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)


@pytest.fixture
def core(monkeypatch):
    """An environment in which nothing that draws is installed."""
    for module in DISTRIBUTIONS:
        monkeypatch.setitem(sys.modules, module, None)
    bundle.chart_library.cache_clear()
    yield
    bundle.chart_library.cache_clear()


def test_no_module_imports_what_draws():
    found = [name for path in SOURCES for name in IMPORT.findall(path.read_text(encoding="utf-8"))]
    assert "msgspec" in found
    assert not DISTRIBUTIONS.keys() & set(found)


@pytest.mark.usefixtures("core")
def test_terminals_and_markdown_do_without():
    assert "test acc" in cases.render_terminal(cases.usual())
    assert "test acc" in cases.render_markdown(cases.usual())


@pytest.mark.usefixtures("core")
def test_a_page_is_written_without_charts_and_says_so_last():
    text = pages.page(cases.usual())
    assert 'class="chart"' not in text
    assert "figcaption" in text
    last = re.sub("<[^>]+>", "", text.rpartition("</section>")[2])
    assert "The charts are left out. To have them, type: pip install altair vl-convert-python" in last


@pytest.mark.usefixtures("core")
def test_figures_say_what_to_type(tmp_path):
    figures = experiment_figures(cases.usual().facts)
    asked = {
        "files": lambda: list(write_figures(figures, tmp_path / "figures")),
        "notebook": lambda: Figures(figures)[figures[0].slug],
        "chart": lambda: figures[0].chart,
    }
    for ask in asked.values():
        with pytest.raises(NotInstalled, match="which is not installed") as caught:
            ask()
        assert caught.value.hint == "type: pip install altair vl-convert-python"
    assert not (tmp_path / "figures").exists()
