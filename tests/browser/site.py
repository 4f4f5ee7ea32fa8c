"""The built site in a real browser: ``python -m tests.browser.site docs/_build/html [FOLDER]`` (``nox -s site``).

It opens the start page, searches for a word as a reader does, follows the first result, and looks at pages on a phone.
The site is served on loopback, and a request to any other host is refused and counts as a problem. Pictures of the
browser go to FOLDER. Without Chromium the command says so and does nothing.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.chromium import OPTIONS, PROGRAM

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

WORD, PAGE, SECTION = "cancel", "order-entry.html", "cancel"
"""The word to search for, and the section that its first result must show."""

PHONE = {"width": 390, "height": 844}
PHONE_PAGES = (
    "index.html", "start.html", "order-entry.html", "from-other-clients.html", "operations.html", "bulk.html",
    "reference/messages.html", "reference/operations/orders.html", "search.html",
)  # fmt: skip

WIDER = """() => {
  const width = document.documentElement.clientWidth
  return document.documentElement.scrollWidth > width
    ? [...document.querySelectorAll("article *")].filter(e => e.getBoundingClientRect().right > width + 1)
        .slice(0, 3).map(e => e.outerHTML.slice(0, 80))
    : null
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def stay_here(context: BrowserContext, address: str) -> list[str]:
    """Refuse every request to another host. Return the list that these are added to."""
    strangers: list[str] = []

    def decide(route: Any) -> None:
        if route.request.url.startswith((address, "data:")):
            route.continue_()
        else:
            strangers.append(route.request.url)
            route.abort()

    context.route("**/*", decide)
    return strangers


def search(page: Page, address: str, pictures: Path | None) -> list[str]:
    """Search from the start page, follow the first result, and return its problems."""
    page.goto(f"{address}/index.html")
    page.fill(".sidebar-search", WORD)
    page.press(".sidebar-search", "Enter")
    page.wait_for_selector("#search-results .search li a")
    page.wait_for_function("!document.querySelector('#search-progress')?.textContent.includes('Searching')")
    results = [(each.inner_text(), each.get_attribute("href")) for each in page.locator("#search-results li > a").all()]
    print(*(f"  {words}: {target}" for words, target in results[:5]), sep="\n")
    _picture(page, pictures, "search")
    page.locator("#search-results li > a").first.click()
    page.wait_for_load_state()
    _picture(page, pictures, "section")
    heading = page.locator(f"section#{SECTION} > h1, section#{SECTION} > h2, section#{SECTION} > h3")
    if not page.url.endswith(f"/{PAGE}#{SECTION}") or heading.count() != 1 or not heading.is_visible():
        return [f"the first result for {WORD!r} must lead to {PAGE}#{SECTION}, got {page.url}"]
    top = heading.bounding_box() or {"y": -1.0}
    return [] if 0 <= top["y"] < page.viewport_size["height"] else [f"the section is not in view: {top}"]  # type: ignore[index]


def on_a_phone(context: BrowserContext, address: str, pictures: Path | None) -> list[str]:
    """Return the pages that a phone shows wider than its screen."""
    problems = []
    page = context.new_page()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name in PHONE_PAGES:
        page.goto(f"{address}/{name}")
        if (wide := page.evaluate(WIDER)) is not None:
            problems.append(f"{name} is wider than a phone, because of {wide}")
        _picture(page, pictures, f"phone-{Path(name).stem}")
    return problems


def _picture(page: Page, folder: Path | None, name: str) -> None:
    if folder is not None:
        page.screenshot(path=str(folder / f"{name}.png"))


def main(site: str, pictures: str | None = None) -> int:
    """Run the command. Return 1 if the site is not as a reader needs it."""
    if PROGRAM is None:
        print("skipped: there is no Chromium here (Debian: apt-get install chromium)")
        return 0
    from playwright.sync_api import sync_playwright

    folder = Path(pictures) if pictures else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with served(Path(site)) as address, sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=PROGRAM, headless=True, args=OPTIONS
        )
        strangers = stay_here(context, address)
        problems = search(context.new_page(), address, folder) + on_a_phone(context, address, folder)
        context.close()
    problems += [f"a page asks another host: {url}" for url in strangers]
    print(*problems, f"site: {len(PHONE_PAGES)} pages on a phone, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
