"""A real browser for the tests of the explorer's page: Debian's chromium, driven by Playwright, with no way to a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adjoint.explorer.page import page as page_text

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser, started once a process; without one the tests that ask for it are skipped, with the reason."""
    lacking = "NOT TESTED in a browser: Playwright is not installed; `make browser` installs it"
    playwright = pytest.importorskip("playwright.sync_api", reason=lacking)
    if CHROMIUM is None:
        pytest.skip("NOT TESTED in a browser: there is no chromium; `apt-get install chromium`")
    flags = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-extensions"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # chromium's does not work for root
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield started
        started.close()


class Shown:
    """A page in the browser.

    page  Playwright's
    """

    def __init__(self, page: Any):
        self.page = page

    def rows(self, column: str, which: str = ".row") -> list[str]:
        """Return the text of the rows of a column that are in the document, those of a class."""
        return self.page.evaluate(
            """([column, which]) => [...document.querySelectorAll(`#${column}-lines ${which}`)].sort((a, b) => a.position - b.position)
               .map(row => row.querySelector(".code").textContent)""", [column, which],
        )

    def in_view(self, column: str, which: str) -> list[str]:
        """Return the text of the rows of a class that the reader sees."""
        return self.page.evaluate(
            """([column, which]) => {
                const box = document.getElementById(`${column}-lines`).getBoundingClientRect();
                return [...document.querySelectorAll(`#${column}-lines ${which}`)].filter(row => {
                    const place = row.getBoundingClientRect();
                    return place.top >= box.top - 1 && place.bottom <= box.bottom + 1;
                }).sort((a, b) => a.position - b.position).map(row => row.querySelector(".code").textContent);
            }""", [column, which],
        )

    def row(self, column: str, text: str) -> Any:
        """Return the first row of a column with this text."""
        return self.page.locator(f"#{column}-lines .row", has_text=text).first

    def touch(self, column: str, text: str) -> None:
        self.row(column, text).hover(position={"x": 90, "y": 10})
        self.settle()

    def click(self, column: str, text: str) -> None:
        self.row(column, text).click(position={"x": 90, "y": 10})
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has drawn what follows from the last event."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def elements(self) -> int:
        return self.page.evaluate("() => document.getElementsByTagName('*').length")


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Shown]]:
    """Open the page of a program, at an address; at the end nothing was asked of a network, and nothing complained."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_offline(True)
    requests: list[str] = []
    complaints: list[str] = []

    def opened(program: dict[str, Any] | str, address: str = "", **options: Any) -> Shown:
        file = tmp_path / "page.html"
        file.write_text(program if isinstance(program, str) else page_text(program), encoding="utf-8")
        page = context.new_page()
        page.set_default_timeout(10_000)
        if "viewport" in options:
            page.set_viewport_size(options["viewport"])
        page.emulate_media(color_scheme=options.get("scheme", "light"))
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(file.as_uri() + address)
        made = Shown(page)
        made.settle()
        return made

    yield opened
    context.close()
    assert not complaints
    assert {url.partition("#")[0] for url in requests} <= {(tmp_path / "page.html").as_uri(), "data:,"}
