"""Chromium through its driver, with what these tests ask of it: waiting, requests, violations."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

SECONDS = 30  # after which a page that does not come to what is awaited fails a test
VIEWS = ("", "search", "timeline", "graph", "hierarchy", "gate", "conflicts", "erasure")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-prefers-reduced-motion",
)


class Browser:
    """Chromium, headless."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        for flag in _FLAGS:
            options.add_argument(flag)
        options.binary_location = str(shutil.which("chromium"))
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def close(self) -> None:
        """End the browser and its driver."""
        self.driver.quit()


class Page:
    """The page of one server."""

    def __init__(self, browser: Browser, base: str) -> None:
        self.base = base
        self.driver = browser.driver
        self.messages()  # of tests before
        self.requests()

    def open(self, view: str = "", *, width: int = 1400, wait: bool = True, fresh: bool = False) -> None:
        """Go to a view; `fresh` loads the page anew."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        if fresh or not self.driver.current_url.startswith(self.base):
            self.driver.get("about:blank")
        self.driver.get(f"{self.base}/#/{view}")
        if wait:
            self.settle()

    def leave(self) -> None:
        """Forget what the page keeps, and leave it, so that it asks the server nothing more."""
        if self.driver.current_url.startswith(self.base):
            self.run("sessionStorage.clear()")
        self.driver.get("about:blank")

    def settle(self) -> None:
        """Wait until the view has all that it asked for."""
        self.until(
            lambda: self.run(
                "return !!document.querySelector('h1, .problem, dialog') && !document.querySelector('[aria-busy]')"
            )
        )

    def until(self, there: Callable[[], Any]) -> Any:
        """Wait for something, and return it."""
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        ignored = [NoSuchElementException, StaleElementReferenceException]
        waiting = WebDriverWait(self.driver, SECONDS, poll_frequency=0.05, ignored_exceptions=ignored)
        return waiting.until(lambda _: there())

    def all(self, selector: str) -> list[WebElement]:
        """The elements that fit."""
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str, text: str = "") -> WebElement:
        """The first element that fits and is shown, with this text in it; it is waited for."""
        return self.until(
            lambda: next((one for one in self.all(selector) if one.is_displayed() and text in one.text), None)
        )

    def text(self, selector: str = "main") -> str:
        """What is shown there."""
        return self.driver.find_element("css selector", selector).text

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def command(self, name: str, **arguments: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def tab(self) -> None:
        """Press Tab where the focus is, without waiting for anything."""
        for kind in ("rawKeyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def focus(self) -> str:
        """The name of the element that has the focus, as a screen reader says it."""
        found = self.run("return document.activeElement.labels?.[0]?.textContent ?? null")
        return str(found or self.driver.switch_to.active_element.accessible_name)

    def drop(self, *files: tuple[str, str]) -> None:
        """Drop files, given by name and text, in the middle of the page."""
        self.run(
            """
            const carried = new DataTransfer();
            for (const [name, text] of arguments[0]) carried.items.add(new File([text], name));
            const told = (kind) => new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true });
            const left = document.body.dispatchEvent(told("dragover")) || document.body.dispatchEvent(told("drop"));
            if (left) throw new Error("the browser would open the file");
            """,
            files,
        )

    def messages(self) -> list[str]:
        """What the browser has complained of since the last call: errors, and violations of the policy."""
        return [one["message"] for one in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        events = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        sent = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("about:", "data:", "blob:", "chrome"))]
