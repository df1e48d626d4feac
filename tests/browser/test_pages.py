"""Pages as a browser shows them: nothing fails, nothing is asked for, everything is drawn and can be used."""

import base64
import re
import threading

import numpy as np
import page_cases as pages
import pytest
import report_cases as cases
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from deviate.cli.watch import WatchServer
from deviate.facts.live import LiveExperiment, LiveRun
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.headline import result_figure
from deviate.report.topics.live import live_page
from deviate.report.writers.html import render_html

pytestmark = pytest.mark.browser

EVERY_KIND = pytest.mark.parametrize("kind", pages.KINDS)

#: Marks that Vega drew, but for axes and legends.
MARKS = "document.querySelectorAll('.chart svg .mark-symbol.role-mark path').length"

#: The chart of a kind that is shown, of those of all metrics.
SHOWN = ".panel:not([hidden]) .chart[data-section={}]"

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def column(browser, table, place):
    rows = "[...document.querySelectorAll('table')[arguments[0]].tBodies[0].rows]"
    return browser.ask(f"{rows}.map(row => row.cells[arguments[1]].firstChild?.textContent ?? '')", table, place)


@EVERY_KIND
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_page_is_drawn_without_problems_requests_or_overflow(browser, kind, width, scheme):
    browser.open(pages.page_of(kind), width=width, scheme=scheme)
    browser.draw_all()
    assert browser.problems() == []
    assert browser.requests() == []
    assert browser.ask(OVERFLOW) == 0
    drawn = browser.ask("document.querySelectorAll('.chart[data-drawn] :is(svg, canvas)').length")
    shown = browser.ask("[...document.querySelectorAll('.chart')].filter(c => c.offsetParent).length")
    assert drawn == shown


@pytest.mark.parametrize("kind", [kind for kind in pages.KINDS if kind != "many metrics"])
def test_no_table_is_cut_off(browser, kind):
    browser.open(pages.page_of(kind), width=1280)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.offsetParent && e.scrollWidth > e.clientWidth)"
    for width in (1280, 1024, 390):
        browser.resize(width)
        assert browser.ask(f"{cut}.map(e => e.ariaLabel)") == [], width


def test_options_are_not_broken_behind_their_hyphens(browser):
    browser.open(pages.page_of("audit"), width=390)
    lines = "[...document.querySelectorAll('h1 .whole')].map(e => e.getClientRects().length)"
    assert set(browser.ask(lines)) == {1}


@pytest.mark.parametrize("kind", ["grid", "comparison", "one variant"])
def test_a_mean_stays_beside_its_sd_on_a_phone(browser, kind):
    browser.open(pages.page_of(kind), width=390)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    heights = (
        "[...document.querySelectorAll('main p .whole')].filter(e => e.textContent.includes('±'))"
        ".map(e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).fontSize))"
    )
    # A comparison has its means in the table alone.
    assert browser.ask(heights) or kind == "comparison"
    assert max(browser.ask(heights), default=0) < 2
    cells = "[...document.querySelectorAll('table:not(:has(thead th:nth-child(4))) td.number')]"
    text = (
        "(e => { const all = document.createRange(); all.selectNodeContents(e); return all.getClientRects().length; })"
    )
    assert max(browser.ask(f"{cells}.map({text})"), default=1) <= 1


def test_on_a_phone_numbers_stand_below_the_name_of_their_row(browser):
    for kind in ("plan", "grid", "arms and sources"):
        browser.open(pages.page_of(kind), width=390)
        cards = "table:has(thead th:nth-child(4)) tbody .number"
        assert browser.ask(f"document.querySelectorAll('{cards}').length") > 0
        paddings = f"[...document.querySelectorAll('{cards}')].map((cell) => getComputedStyle(cell).paddingLeft)"
        assert set(browser.ask(paddings)) == {"0px"}


def test_a_card_of_a_phone_is_not_parted_from_its_remark(browser):
    browser.open(pages.page_of("audit"), width=390)
    rows = "[...document.querySelectorAll('tr:has(+ tr.remark)')].filter(e => e.offsetParent)"
    assert set(browser.ask(f"{rows}.map(e => getComputedStyle(e).borderBottomWidth)")) == {"0px"}


def test_every_run_has_a_mark(browser):
    browser.open(pages.page_of("one variant"))
    browser.draw_all()
    assert browser.ask(f"document.querySelectorAll('{SHOWN.format('distribution')} .role-mark path').length") >= 8
    assert browser.ask(f"document.querySelectorAll('{SHOWN.format('curves')} .mark-line path').length") >= 8
    assert browser.ask(MARKS) >= 8


def test_charts_out_of_sight_wait(browser):
    browser.open(pages.page_of("many metrics"))
    browser.draw_all()
    hidden = "[...document.querySelectorAll('.chart')].filter(c => !c.offsetParent)"
    assert browser.ask(f"{hidden}.length") > 50
    assert browser.ask(f"{hidden}.filter(c => c.firstChild).length") == 0


def test_a_metric_is_chosen_for_all_sections_by_its_name(browser):
    browser.open(pages.page_of("arms and sources"))
    browser.draw_all()
    shown = "[...document.querySelectorAll('.panel:not([hidden])')].map(p => p.dataset.metric)"
    first, *others = browser.ask(shown)
    assert others == [first]
    names = {each.text: each for each in browser.driver.find_elements(By.CSS_SELECTOR, ".metrics button")}
    other = next(name for name in names if name != first)
    names[other].click()
    assert browser.ask(shown) == [other, other]
    assert names[other].get_attribute("aria-pressed") == "true"
    # The table of metrics has the same names to click.
    browser.driver.find_element(By.CSS_SELECTOR, f"#metrics button[data-metric='{first}']").click()
    assert browser.ask(shown) == [first, first]
    browser.draw_all()
    assert browser.problems() == []


@pytest.mark.parametrize("kind", ["one variant", "comparison", "grid", "plan"])
def test_one_screen_answers(browser, kind):
    browser.open(pages.page_of(kind), width=1280, height=800)
    browser.draw_all()
    assert browser.ask("document.querySelector('.answer').getBoundingClientRect().bottom") < 400
    charts = "[...document.querySelectorAll('.first .chart')].filter(c => c.offsetParent)"
    assert browser.ask(f"{charts}[0].getBoundingClientRect().bottom") < 800
    assert browser.ask("document.querySelector('.contents').getBoundingClientRect().top") < 960


def test_tables_are_sorted_by_a_click(browser):
    browser.open(pages.page_of("one variant"))
    heads = browser.driver.find_elements(By.CSS_SELECTOR, "#metrics thead th")
    words = [head.text for head in heads]
    state = "[...document.querySelectorAll('#metrics thead th')].map(th => th.getAttribute('aria-sort'))"
    cv, mean = words.index("CV"), words.index("mean")
    assert column(browser, 0, 0)[0] == "test acc"
    assert browser.ask(state) == [None] * len(words)
    heads[cv].find_element(By.TAG_NAME, "button").click()
    assert browser.ask(state)[cv] == "descending"
    first = column(browser, 0, cv)
    assert [float(text.strip("%")) for text in first] == sorted(
        (float(text.strip("%")) for text in first), reverse=True
    )
    heads[mean].find_element(By.TAG_NAME, "button").click()
    assert browser.ask(state)[mean] == "descending"
    assert browser.ask(state).count(None) == len(words) - 1
    descending = [float(text) for text in column(browser, 0, mean)]
    assert descending == sorted(descending, reverse=True)
    heads[mean].find_element(By.TAG_NAME, "button").click()
    assert browser.ask(state)[mean] == "ascending"
    assert [float(text) for text in column(browser, 0, mean)] == descending[::-1]


def test_unknown_numbers_stay_behind_whatever_the_order(browser):
    browser.open(pages.page_of("failures and NaN"))
    table = browser.ask("[...document.querySelectorAll('table')].indexOf(document.querySelector('#metrics table'))")
    cv = browser.driver.find_elements(By.CSS_SELECTOR, "#metrics table:first-of-type thead button")[5]
    for _ in range(2):
        cv.click()
        assert column(browser, table, 5)[-1] == "–"


def test_tables_are_sorted_by_keys_alone(browser):
    browser.open(pages.page_of("one variant"))
    browser.ask("document.querySelector('#metrics .scroll').focus()")
    keys = ActionChains(browser.driver)
    keys.send_keys(Keys.TAB).perform()
    assert browser.ask("document.activeElement.textContent") == "metric"
    assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    keys.send_keys(Keys.ENTER).perform()
    names = column(browser, 0, 0)
    assert names == sorted(names)
    keys.send_keys(Keys.SPACE).perform()
    assert column(browser, 0, 0) == names[::-1]


def test_the_first_key_leads_past_the_contents(browser):
    browser.open(pages.page_of("one variant"))
    ActionChains(browser.driver).send_keys(Keys.TAB).send_keys(Keys.ENTER).perform()
    assert browser.ask("document.activeElement.id") == "content"


def hover(browser, section):
    """Bring the pointer to the first mark of a section and return what the tip says."""
    point = f"document.querySelector('{SHOWN.format(section)} .mark-symbol.role-mark path')"
    browser.ask(f"{point}.scrollIntoView({{block: 'center'}})")
    browser.next_frame()  # A scroll is reported at the next frame, and hides the tip.
    ActionChains(browser.driver).move_to_element(browser.ask(point)).perform()
    browser.wait_for("!document.getElementById('tip').hidden")
    return browser.ask("document.getElementById('tip').textContent")


#: Lines of the run that is chosen, in the curves that are shown.
CHOSEN = f"document.querySelectorAll('{SHOWN.format('curves')} .mark-line path[stroke-width=\"3\"]').length"
PANEL = "document.getElementById('chosen-run')"
#: Buttons and lists above the curves that are shown.
ABOVE = ".panel:not([hidden]) .controls:has(+ .chart[data-section=curves])"


def test_a_mark_names_its_run_and_a_click_shows_it_in_all_charts(browser):
    browser.open(pages.page_of("one variant"))
    browser.draw_all()
    assert browser.ask("document.getElementById('tip').hidden")
    assert re.search(r"runalgo\+impl-\d", hover(browser, "distribution"))
    assert browser.ask(f"[{CHOSEN}, {PANEL}.hidden]") == [0, True]
    ActionChains(browser.driver).click().perform()
    browser.wait_for(f"{CHOSEN} === 1")
    assert re.match(r"algo\+impl-\dClose.*Outcomecompleted after .*test acc", browser.ask(f"{PANEL}.textContent"))
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.wait_for(f"{CHOSEN} === 0")
    assert browser.ask(f"{PANEL}.hidden")
    browser.driver.find_element(By.CSS_SELECTOR, f"{ABOVE} select").send_keys("algo+impl-1")
    browser.wait_for(f"{CHOSEN} === 1")
    assert (
        browser.ask("document.querySelector('.controls:has(+ .chart[data-section=distribution]) select').value")
        == "algo+impl-1"
    )
    assert browser.problems() == []


def test_curves_are_shown_by_variant_scale_and_part(browser):
    browser.open(pages.page_of("arms and sources"), width=390, scheme="dark")
    browser.draw_all()
    lines = f"document.querySelectorAll('{SHOWN.format('curves')} .mark-line path').length"
    shape = f"document.querySelector('{SHOWN.format('curves')} .mark-line path').getAttribute('d')"
    buttons = {each.text: each for each in browser.driver.find_elements(By.CSS_SELECTOR, f"{ABOVE} button")}
    drawn, first = browser.ask(lines), browser.ask(shape)
    buttons["initialisation"].send_keys(Keys.ENTER)
    browser.wait_for(f"{lines} < {drawn}")
    buttons["initialisation"].send_keys(Keys.ENTER)
    browser.wait_for(f"{lines} === {drawn}")
    for name in ("Log scale", "Second half only"):
        before = buttons[name].get_attribute("aria-pressed")
        buttons[name].send_keys(Keys.SPACE)
        browser.draw_all()
        assert buttons[name].get_attribute("aria-pressed") != before
        first = browser.wait(lambda old=first: (new := browser.ask(shape)) != old and new, f"{name} changes nothing")
    assert browser.ask(OVERFLOW) == 0
    assert browser.problems() == []


@pytest.mark.parametrize(("reached", "halved"), [(12, "true"), (4, "false")])
def test_curves_begin_at_the_second_half_only_if_every_run_is_there(browser, reached, halved):
    # Steep, then flat.
    values = [*np.linspace(0, 90, 5), *np.linspace(90, 91, 7)]
    runs = [
        LiveRun(name=name, variant="algo", state="completed", iterations=list(range(n)), values=values[:n])
        for name, n in (("algo-0", 12), ("algo-1", reached))
    ]
    live = LiveExperiment(name="train", command=["python"], metric="acc", runs=runs, seconds_left=None)
    browser.open(render_html(live_page(live)))
    browser.draw_all()
    pressed = (
        "[...document.querySelectorAll('.controls button')].find((b) => b.textContent.includes('half')).ariaPressed"
    )
    assert browser.ask(pressed) == halved


def test_a_mark_of_a_comparison_names_its_side(browser):
    browser.open(pages.page_of("comparison"))
    browser.draw_all()
    assert re.search("baseline|proposed", hover(browser, "comparison"))


@pytest.mark.parametrize("kind", ["arms and sources", "comparison of three"])
def test_no_text_of_users_runs(browser, kind):
    browser.open(pages.page(pages.hostile(pages.said(kind))))
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.draw_all()
    for name in browser.driver.find_elements(By.CSS_SELECTOR, ".metrics button")[:4]:
        name.click()
        browser.draw_all()
    assert browser.ask("window.hacked") is None
    assert browser.ask("document.querySelectorAll('main img').length") == 0
    assert "<script>window.hacked=1</script>" in browser.ask("document.querySelector('main').innerText")
    assert browser.problems() == []
    assert browser.requests() == []
    assert browser.ask(OVERFLOW) == 0


def test_text_of_users_in_a_tip_is_text(browser):
    browser.open(pages.page(pages.hostile(pages.said("one variant"))))
    browser.draw_all()
    assert "<script>" in hover(browser, "distribution")
    assert browser.ask("document.querySelectorAll('#tip :not(dl, dt, dd)').length") == 0
    assert browser.ask("window.hacked") is None


def test_dark_and_light_change_the_charts_too(browser):
    browser.open(pages.page_of("one variant"), scheme="dark")
    browser.draw_all()
    themes = "[...new Set([...document.querySelectorAll('.chart[data-drawn]')].map(c => c.dataset.drawn))]"
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = browser.ask(ground)
    assert browser.ask(themes) == ["dark"]
    browser.driver.find_element(By.CSS_SELECTOR, ".theme").click()
    browser.wait(lambda: browser.ask(themes) == ["light"], "light charts")
    assert browser.ask(ground) != dark
    assert browser.problems() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, scheme):
    """WCAG 2.2, success criterion 1.4.3: a contrast of 4.5 to 1."""
    browser.open(pages.page_of("failures and NaN"), scheme=scheme)
    assert browser.ask(CONTRAST) >= 4.5


#: The smallest contrast of a text to the nearest ground below it that is not transparent.
CONTRAST = """(() => {
  const parse = (colour) => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('body *')].filter((e) =>
    e.offsetParent && !e.closest('.chart') && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
  return Math.min(...texts.map((e) => {
    const [a, b] = [luminance(parse(getComputedStyle(e).color)), luminance(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_has_every_chart_and_every_detail_in_light(browser, scheme):
    browser.open(pages.page_of("arms and sources"), scheme=scheme)
    browser.wait_for("document.querySelectorAll('.chart[data-drawn]').length > 0")
    browser.ask(
        "addEventListener('beforeprint', () => window.printed = ["
        "[...document.querySelectorAll('.chart')].filter(c => c.offsetParent).map(c => c.dataset.drawn),"
        "document.querySelectorAll('details:not([open])').length])"
    )
    paper = browser.command("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    assert base64.b64decode(paper).startswith(b"%PDF-")
    charts, closed = browser.wait_for("window.printed")
    assert set(charts) == {"light"}
    assert closed == 0
    browser.draw_all()
    browser.wait(
        lambda: browser.ask("[...document.querySelectorAll('.chart[data-drawn]')].at(-1).dataset.drawn") == scheme,
        scheme,
    )
    assert browser.ask("document.querySelectorAll('details:not([open])').length") > 0
    assert browser.problems() == []


@pytest.mark.parametrize("kind", ["one variant", "comparison"])
def test_a_page_reads_without_scripts(browser, kind):
    browser.open(pages.page_of(kind), scripts=False)
    root = browser.command("DOM.getDocument")["root"]["backendNodeId"]
    outline = pages.Outline(browser.command("DOM.getOuterHTML", backendNodeId=root)["outerHTML"])
    assert "The charts need JavaScript" in outline.text
    facts = pages.said(kind)
    said = (
        comparison_headline(facts)[:1]
        if kind == "comparison"
        else result_figure(facts.variants[0].facts, facts.facts).beside
    )
    assert all(sentence in outline.text for sentence in said)
    assert len(outline.tables) == len(pages.outline_of(kind).tables)
    assert all("hidden" in button for button in outline.of("button"))
    names = browser.command("Accessibility.getFullAXTree")["nodes"]
    images = [each for each in names if each.get("role", {}).get("value") == "image" and not each["ignored"]]
    charts = [each for each in images if "description" in each]
    assert len(charts) == len(outline.of("figure"))
    assert len(images) - len(charts) == len([each for each in outline.of("svg") if each.get("role") == "img"])
    assert all(each["name"]["value"] for each in images)
    assert all(each["description"]["value"] for each in charts)


def test_the_accessibility_tree_has_landmarks_and_sorted_columns(browser):
    browser.open(pages.page_of("one variant"))

    def said(role):
        nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
        return [
            each.get("name", {}).get("value") for each in nodes if not each["ignored"] and each["role"]["value"] == role
        ]

    # The tree follows the page with a delay.
    browser.wait(lambda: any("CV" in name for name in said("button")), "buttons that sort")
    assert all(said(role) for role in ("banner", "navigation", "main", "region", "columnheader"))


def test_a_page_of_other_width_is_drawn_to_it(browser):
    browser.open(pages.page_of("one variant"))
    browser.draw_all()
    width = "Math.max(...[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().width))"
    assert browser.ask(width) > 700
    browser.resize(360)
    browser.wait(lambda: browser.ask(width) <= 344, "narrower charts")
    assert browser.ask(OVERFLOW) == 0


def test_very_many_marks_are_painted_instead(browser):
    values = np.random.default_rng(0).standard_normal(2400).tolist()
    browser.open(pages.page(cases.document({"algo+impl": {"a": values}})))
    browser.draw_all()
    canvas = "document.querySelector('.chart[data-section=distribution] canvas')"
    pixels = f"{canvas}.getContext('2d').getImageData(0, 0, {canvas}.width, {canvas}.height).data"
    assert browser.ask(f"{pixels}.filter((v, i) => i % 4 === 3 && v > 100).length") > 2000
    assert browser.problems() == []


def test_a_live_page_changes_in_place_and_says_when_nobody_serves_it(browser):
    shown = ["one variant"]
    html = {kind: render_html(pages.full_page(pages.said(kind)), live=True) for kind in ("one variant", "gate")}
    server = WatchServer(0, lambda: html[shown[0]], lambda: shown[0])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        browser.visit(server.address)
        browser.draw_all()
        browser.driver.execute_script("window.old = document.querySelector('.first .chart[data-drawn] svg')")
        shown[0] = "gate"
        browser.wait_for("document.querySelector('#answer .badge')")
        browser.draw_all()
        assert not browser.ask("old.isConnected")
        assert browser.ask("document.querySelectorAll('.chart[data-drawn] svg').length") > 0
        assert browser.ask("document.querySelector('.live').textContent") == "live"
        links = "[...document.querySelectorAll('.contents a')].every(a => document.querySelector(a.hash))"
        assert browser.ask(links)
        assert browser.problems() == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    browser.wait_for("document.querySelector('.live').textContent.startsWith('not live')")


def test_what_is_the_same_on_a_live_page_stays_and_charts_change_without_a_gap(browser):
    live, runs = [], [{"name": "algo-0", "state": "completed", "values": [1.0, 2.0, 3.0]}]
    runs += [{"name": "algo-1", "state": "under way", "values": [1.0, 1.5]}]

    def page():
        made = [LiveRun(variant="algo", iterations=list(range(len(run["values"]))), **run) for run in runs]
        live[:] = [LiveExperiment(name="train", command=["python"], metric="acc", runs=made, seconds_left=9.0)]
        return render_html(live_page(live[0], pages.full_page(pages.said("one variant")).sections), live=True)

    server = WatchServer(0, page, lambda: str(len(runs[1]["values"])))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        browser.visit(server.address)
        browser.draw_all()
        browser.driver.execute_script(
            "window.kept = document.querySelector('#report .chart[data-drawn]'); window.gaps = 0;"
            "const drawn = () => document.querySelector('#live .chart > div:not(.coming) svg');"
            "window.old = drawn();"
            "const look = () => { gaps += !drawn(); requestAnimationFrame(look); }; look();"
        )
        runs[1]["values"].append(2.5)
        browser.wait_for("!old.isConnected")
        assert browser.ask("[gaps, kept.isConnected]") == [0, True]
        assert browser.ask("document.querySelectorAll('#live .controls').length") == 1
        browser.driver.execute_script("const now = Date.now; Date.now = () => now() + 130000;")
        browser.wait_for("document.querySelector('.live').textContent === 'nothing heard of the runs for 2 min'")
        assert browser.problems() == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
