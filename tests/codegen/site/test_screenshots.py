"""Pictures of a terminal show its last state, and load nothing from elsewhere."""

from __future__ import annotations

import re

from codegen.site.screenshots import COMMANDS, FOLDER, picture


def test_picture_names_the_command_and_no_other_host() -> None:
    drawn = picture("brokerage-async demo", "\x1b[1mbold\x1b[0m & plain\r\n")
    assert "brokerage-async&#160;demo" in drawn or "brokerage-async demo" in drawn
    assert "bold" in drawn
    assert set(re.findall(r"https?://[\w.]+", drawn)) <= {"http://www.w3.org", "https://www.textualize.io"}
    assert "url(http" not in drawn


def test_every_command_has_its_picture() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} >= COMMANDS.keys()
