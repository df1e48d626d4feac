"""One browser for all tests, where there is one."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def browser(opened):
    """The browser, which shows nothing afterwards: a page that is left open goes on computing."""
    yield opened
    opened.driver.get("about:blank")


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    from browsing import Browser, start

    driver = start(CHROMIUM, DRIVER, tmp_path_factory.mktemp("profile"))
    yield Browser(driver, tmp_path_factory.mktemp("pages"))
    driver.quit()
