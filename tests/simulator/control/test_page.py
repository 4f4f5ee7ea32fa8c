import re
import shutil
import subprocess
from pathlib import Path

import pytest

from brokerage_async.simulator.control import server
from brokerage_async.simulator.control.api import CONTROL_ROUTES


def test_page_has_what_its_script_uses_and_nothing_from_elsewhere() -> None:
    ids = set(re.findall(r'id="([\w-]+)"', server.PAGE))
    used = set(re.findall(r'(?:byId|rows)\("(\w+)"', server.SCRIPT))
    assert used
    assert used <= ids
    forms = set(re.findall(r'data-action="(\w+)"', server.PAGE))
    assert forms == set(re.findall(r"^  (\w+): \(", server.SCRIPT, re.MULTILINE))
    routes = {(route.method, re.sub(r"\{\w+\}", "{}", route.path)) for route in CONTROL_ROUTES}
    calls = re.findall(r'"(GET|PUT|POST|PATCH|DELETE)", ["`]([^"`]+)["`]', server.SCRIPT)
    assert len(calls) >= 12
    for method, path in calls:
        plain = re.sub(r"\$\{path\}", "/orders/{}", path)
        assert (method, re.sub(r"\$\{[^}]*\}", "{}", plain)) in routes, path
    assert '<html lang="en">' in server.PAGE
    assert 'href="#orders"' in server.PAGE
    assert 'aria-live="polite"' in server.PAGE
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", server.PAGE + server.SCRIPT + server.STYLE)
    assert not re.findall(r"<script>|\son\w+=|innerHTML", server.PAGE + server.SCRIPT)  # the policy forbids them
    assert "color-scheme: light dark" in server.STYLE
    fields = re.findall(r"<(?:input|select)[^>]*>", server.PAGE)
    labelled = re.findall(r"<label>[^<]*<input", server.PAGE)
    assert len(fields) == len(labelled) > 5


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node, which parses the script")
def test_script_is_valid(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(server.SCRIPT)
    done = subprocess.run(["node", "--check", tmp_path / "page.js"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
