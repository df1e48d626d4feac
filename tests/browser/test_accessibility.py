"""Every page keeps WCAG 2.2 AA as far as axe-core can tell, in light and dark, and works by keys alone."""

import os
from importlib.resources import files

import page_cases as pages
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from deviate.report.page import Cell, Column, Page, Row, Section, Table
from deviate.report.writers.html import render_html

pytestmark = pytest.mark.browser

#: Rules of levels A and AA, and on headings and landmarks; colours inside charts are held by the tests of the themes.
FURTHER = ("heading-order", "landmark-one-main", "page-has-heading-one", "region")
OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "rules": {
        rule: {"enabled": True} for rule in ("heading-order", "landmark-one-main", "page-has-heading-one", "region")
    },
}

RUN = """
const [options, done] = arguments;
const node = (each) => `${each.html.slice(0, 160)} ${each.failureSummary}`;
axe.run(document, options).then((found) =>
  done(found.violations.map((each) => `${each.id}: ${each.nodes.slice(0, 3).map(node).join(" | ")}`)));
"""


@pytest.fixture(scope="session")
def axe():
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


#: Each page wide and light, and narrow and dark: by turns, or, in the nightly tests, both.
VIEWS = ((1280, "light"), (390, "dark"))
FULL = os.environ.get("DEVIATE_MATRIX") == "full"
CASES = [
    (kind, *view) for place, kind in enumerate(pages.KINDS) for view in (VIEWS if FULL else [VIEWS[place % len(VIEWS)]])
]


@pytest.mark.parametrize(("kind", "width", "scheme"), CASES)
def test_axe_finds_nothing(browser, axe, kind, width, scheme):
    browser.open(pages.page_of(kind), width=width, scheme=scheme)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.draw_all()
    browser.command("Page.setBypassCSP", enabled=True)
    browser.driver.execute_script(axe)
    assert browser.driver.execute_async_script(RUN, OPTIONS) == []


def test_heads_of_one_letter_and_of_none_keep_it_too(browser, axe):
    columns = [
        Column(head="metric", numeric=False),
        *(Column(head=head) for head in "npF"),
        Column(head="", numeric=False),
    ]
    rows = [Row(cells=[Cell("acc"), *(Cell("1", 1.0) for _ in "npF"), Cell("shown")]) for _ in range(2)]
    table = Table(caption="Effects", columns=columns, rows=rows)
    browser.open(render_html(Page(title="Effects", reader="full", sections=[Section(slug="a", blocks=[table])])))
    assert browser.ask("document.querySelectorAll('th button').length") == 4
    browser.command("Page.setBypassCSP", enabled=True)
    browser.driver.execute_script(axe)
    assert browser.driver.execute_async_script(RUN, OPTIONS) == []


def test_folds_and_metrics_are_reached_and_used_by_keys_alone(browser):
    browser.open(pages.page_of("one variant"))
    browser.draw_all()
    keys = ActionChains(browser.driver)
    wanted = {"SELECT", "SUMMARY", "A", "BUTTON"}
    met, before = set(), None
    for _ in range(80):
        keys.send_keys(Keys.TAB).perform()
        element = browser.ask("document.activeElement")
        # Nothing holds the keyboard.
        assert element != before
        before = element
        met.add(browser.ask("document.activeElement.tagName"))
        assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if browser.ask("document.activeElement.tagName") == "SUMMARY":
            opened = browser.ask("document.activeElement.parentElement.open")
            keys.send_keys(Keys.ENTER).perform()
            assert browser.ask("document.activeElement.parentElement.open") != opened
        if wanted <= met:
            break
    assert wanted <= met
