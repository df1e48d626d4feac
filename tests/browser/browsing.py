"""A browser without a window, and what the tests ask it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

#: Seconds to wait for what a page does after it has loaded; only reached where a test fails.
PATIENCE = 20.0

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-prefers-reduced-motion",
)


def start(chromium: str, driver: str, profile: Path) -> webdriver.Chrome:
    """Start a browser with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(executable_path=driver))


class Browser:
    """A page in the browser."""

    def __init__(self, driver: webdriver.Chrome, folder: Path) -> None:
        self.driver = driver
        self._folder = folder
        self._count = 0

    def open(
        self, html: str, width: int = 1280, height: int = 900, scheme: str = "light", scripts: bool = True
    ) -> None:
        """Show a page in a window of that size; what was logged before is forgotten."""
        self._count += 1
        path = self._folder / f"page-{self._count}.html"
        path.write_text(html, encoding="utf-8")
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.resize(width, height)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())

    def visit(self, address: str) -> None:
        """Show the page of a server in a light window of usual size; what was logged before is forgotten."""
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        self.resize(1280)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(address)

    def resize(self, width: int, height: int = 900) -> None:
        """Change the window's inside to that size."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def command(self, name: str, **arguments: Any) -> Any:
        """Send a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def ask(self, script: str, *arguments: Any) -> Any:
        """Return what an expression of JavaScript is."""
        return self.driver.execute_script(f"return {script}", *arguments)

    def wait(self, met: Callable[[], Any], what: str) -> Any:
        """Return what `met` returns as soon as it is true."""
        end = time.monotonic() + PATIENCE
        while not (found := met()):
            assert time.monotonic() < end, what
            time.sleep(0.05)
        return found

    def wait_for(self, script: str) -> Any:
        """Return an expression of JavaScript as soon as it is true."""
        return self.wait(lambda: self.ask(script), script)

    def next_frame(self) -> None:
        """Wait until the page has shown a frame, and reported what it scrolled."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
        )

    def draw_all(self) -> None:
        """Wait until every chart that is open is drawn."""
        self.wait_for(
            "[...document.querySelectorAll('.chart')].every((c) => c.offsetParent === null || c.dataset.drawn)"
        )

    def problems(self) -> list[str]:
        """Return what the page wrote on its console, violations of its policy and uncaught errors among it."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for, but those of the page and of data."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        addresses = [each["request"]["url"] for each in asked]
        return [url for url in addresses if not url.startswith((self._folder.as_uri(), "data:", "about:"))]
