"""Files that start the engines for development: the script runs, the compose file has the form that it must have."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.documents import ROOT
from tests.fleet.engines import answers, free_port

FOLDER = ROOT / "examples" / "engines"


@pytest.mark.skipif(not FOLDER.is_dir() or os.name == "nt", reason="the script is not here, or cannot run here")
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_script_starts_an_engine_and_stops_it(tmp_path: Path) -> None:
    port = free_port()
    variables = os.environ | {"REDIS_PORT": str(port), "POSTGRES_PORT": str(free_port())}
    process = subprocess.Popen(
        ["sh", FOLDER / "run.sh", tmp_path / "data"], stdout=subprocess.PIPE, env=variables, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == f"redis://127.0.0.1:{port}/0\n"
        deadline = time.monotonic() + 20
        while not answers(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert answers(port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        process.stdout.close()
    assert not answers(port)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the compose file is not here")
def test_compose_file_listens_on_loopback_only() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))["services"]
    assert set(services) == {"redis", "postgres"}
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert service["healthcheck"]["test"][0] == "CMD"
