"""Every check of the project by name: ``nox -l`` lists them, most people want ``nox -s tests``.

Sessions for an interpreter that is not installed are skipped, and nox says so.
"""

import os
import shlex
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "typing", "tests"]
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
EXTRAS = ".[cli,arrow,pandas,polars,redis]"
ALL_EXTRAS = ".[cli,arrow,pandas,polars,redis,postgres]"
SITE = "docs/_build/html"
LOCK = "pylock.release.toml"
WORKERS = (os.cpu_count() or 1) + 2  # more than cores: many tests wait
QUICK = f"-q -n {WORKERS} --dist worksteal -m 'not slow'"
PIP = "pip==26.3"  # which can install from a lock


def group(name: str) -> list[str]:
    return list(nox.project.dependency_groups(PYPROJECT, name))


def run(session: nox.Session, needs: str, command: str, otherwise: str = "", *, package: str = EXTRAS) -> None:
    """Install the package and a dependency group. Run a command with the session's arguments, or with others."""
    session.install("-e", package, *group(needs))
    session.run(*shlex.split(command), *(session.posargs or shlex.split(otherwise)))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, stale generated code, slots, workflows."""
    session.install("-e", EXTRAS, *group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "codegen", "--check")
    session.run("slotscheck", "-m", "brokerage_async", "--exclude-modules", r"brokerage_async\._pyinstaller")
    session.run("zizmor", "--offline", "--quiet", "--min-severity", "medium", ".github/workflows")


@nox.session
def typing(session: nox.Session) -> None:
    """Check static types: package and documented programs by mypy in strict mode and by pyright, public types."""
    session.install("-e", ALL_EXTRAS, *group("typing"), *group("codegen"))
    session.run("mypy")
    with tempfile.TemporaryDirectory() as programs:  # pyright skips folders like .nox
        session.run("python", "-m", "tests.documents", programs)
        session.run("mypy", "--strict", programs)
        session.run("pyright", "brokerage_async", "tests/typing", f"{programs}/strict")
    session.run("pyright", "--verifytypes", "brokerage_async", "--ignoreexternal")


def run_tests(session: nox.Session) -> None:
    """Run every test but the slow ones, on all cores, on an editable install."""
    run(session, "tests", "pytest", QUICK)


tests = nox.session(run_tests, name="tests")
for version in ("3.11", "3.12", "3.13", "3.14"):
    nox.session(run_tests, name=f"tests-{version}", python=version)


@nox.session
def programs(session: nox.Session) -> None:
    """Run the programs that need packages from elsewhere: DuckDB, and notebooks in a real kernel."""
    run(session, "programs", "pytest -q tests/examples tests/test_blocking.py")


@nox.session
def lumibot(session: nox.Session) -> None:
    """Let a strategy of Lumibot trade through the example broker. It brings some 200 packages."""
    session.install("-e", EXTRAS, *group("tests"), "lumibot>=4.6")
    session.run("pytest", "-q", "tests/examples", "-k", "lumibot_strategy", *session.posargs)


@nox.session
def versions(session: nox.Session) -> None:
    """Run every test but the slow ones while simulators serve each of four sets of interface versions."""
    session.install("-e", EXTRAS, *group("tests"))
    for served in ("20250813", "20250813,20261012", "20261012", "20270601"):
        session.run("pytest", *(session.posargs or shlex.split(QUICK)), env={"SERVED_VERSIONS": served})


@nox.session(name="free-threaded", python="3.14t")
def free_threaded(session: nox.Session) -> None:
    """Name the modules that bring the lock back in Python without one, and run the tests there, with the lock off."""
    session.install("-e", ".[cli]", *group("tests"))
    session.run("python", "-W", "always::RuntimeWarning", "-c", FREE_THREADED)
    session.run("pytest", *(session.posargs or ["-q", "-m", "not slow"]), env={"PYTHON_GIL": "0"})


FREE_THREADED = """
import importlib, sys
from brokerage_async import Client, models
for name in ("aiohttp", "cattrs", "msgspec", "brokerage_async._generated.converters"):
    importlib.import_module(name)
    print(f"{name}: the lock is {'back' if sys._is_gil_enabled() else 'off'}")
"""


@nox.session
def slow(session: nox.Session) -> None:
    """Run the tests that take more than 5 seconds each (marker ``slow``)."""
    run(session, "tests", "pytest -q -n auto -m slow")


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure branch coverage of the package without generated code. Less than 95 % fails."""
    session.install("-e", ALL_EXTRAS, *group("coverage"))
    session.run("coverage", "erase")
    left_out = "not leaves_out_what_may_not_be_needed"  # coverage itself imports those modules in child processes
    slower = "timeout=600"  # than 120 s, which is enough for every test that is not measured
    options = session.posargs or ["-q", "-n", "auto", "-m", "not slow", "-o", slower, "-k", left_out]
    session.run("coverage", "run", "-m", "pytest", *options)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


@nox.session
def mutation(session: nox.Session) -> None:
    """Small changes to auth/, journal/, order_entry/ and protocol/, 720 by seed: 85 % must fail a unit test."""
    run(session, "mutation", "python -m tests.mutation", "--page")


@nox.session
def tests_lowest(session: nox.Session) -> None:
    """Run the test suite on the lowest versions that pyproject.toml allows at run time."""
    lowest = [requirement.replace(">=", "==") for requirement in PYPROJECT["project"]["dependencies"]]
    session.install("-e", EXTRAS, *group("tests"))
    session.install(*lowest)
    session.run("pytest", *(session.posargs or ["-q"]))


@nox.session
def dev_mode(session: nox.Session) -> None:
    """Run the test suite under ``python -X dev -W error``."""
    run(session, "tests", "python -X dev -W error -m pytest", "-q")


@nox.session
def generate(session: nox.Session) -> None:
    """Write ``brokerage_async/_generated`` from ``schema/``."""
    run(session, "codegen", "python -m codegen", package=".")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site in ``docs/_build/html``, to read it: ``nox -s docs``. See ``checked_docs``."""
    build_site(session)


@nox.session
def checked_docs(session: nox.Session) -> None:
    """Build the site anew, and run its console blocks. A broken link, an undocumented name fails."""
    build_site(session, "-W", "--keep-going", "-E")
    session.run("python", "-m", "codegen.site", SITE)
    if sys.platform != "win32":  # the console blocks are for a shell of Unix
        session.run("python", "-m", "tests.console")


def build_site(session: nox.Session, *options: str) -> None:
    session.install("-e", ".[arrow,cli,postgres,redis]", *group("docs"))
    session.run("python", "-m", "sphinx", "-b", "html", "-q", *options, "docs", SITE)


@nox.session
def site(session: nox.Session) -> None:
    """Build the site, search it and read it on a phone in a real Chromium (Debian's package). Says so without one."""
    session.install("-e", ".[cli,postgres]", *group("docs"), *group("site"))
    session.run("python", "-m", "sphinx", "-b", "html", "-q", "docs", SITE)
    session.run("python", "-m", "tests.browser.site", SITE, *session.posargs)


@nox.session
def pictures(session: nox.Session) -> None:
    """Run console commands as in a terminal, and draw their output in ``docs/pictures``."""
    run(session, "docs", "python -m codegen.site.screenshots", package=".[cli]")


@nox.session
def build(session: nox.Session) -> None:
    """Build the wheel, look into it, and run the tests against it, installed, away from the source tree."""
    session.install("build", *group("tests"))
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    wheel = next(Path("dist").glob("*.whl"))
    session.run("python", "-m", "tests.release.checks", "dist")
    session.install("--force-reinstall", "--no-deps", str(wheel))
    session.install(f"{wheel}{EXTRAS[1:]}")
    with tempfile.TemporaryDirectory() as folder:
        for name in (".ci", "tests", "schema", "codegen", "changelog.d", "docs", "examples", "benchmarks"):
            shutil.copytree(name, Path(folder) / name)
        for file in (*Path().glob("*.md"), "pyproject.toml", "noxfile.py"):
            shutil.copy(file, folder)
        session.chdir(folder)
        about_the_sources = ("tests/codegen", "tests/release", "tests/test_layers.py")
        session.run("pytest", "-q", *(f"--ignore={name}" for name in about_the_sources), *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Build twice and compare, check wheel, sdist and changelog, run the demo; ``-- --final`` before publishing.

    A final release is built with the tools that ``pylock.release.toml`` names by hash.
    """
    tools = ["-r", LOCK] if "--final" in session.posargs else ["editables", "hatchling>=1.28", *group("release")]
    session.install(PIP)
    session.install(*tools)
    session.install("--no-build-isolation", "-e", ".")
    folder = Path(session.create_tmp()).resolve()
    for name in ("dist", "again", "source"):
        shutil.rmtree(folder / name, ignore_errors=True)
    shown = session.run("git", "log", "-1", "--format=%ct", external=True, silent=True, success_codes=[0, 128])
    moment = shown.strip() if shown and shown.strip().isdigit() else "1577836800"  # of the last commit, or 2020
    env = {"SOURCE_DATE_EPOCH": moment}
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), env=env)
    wheel, sdist = next((folder / "dist").glob("*.whl")), next((folder / "dist").glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:  # the second build runs in another folder, from the first one's sdist
        archive.extractall(folder / "source", filter="data")
    source = next((folder / "source").iterdir())
    again = str(folder / "again")
    session.run("python", "-m", "build", "--no-isolation", "--outdir", again, str(source), env=env)
    session.run("python", "-m", "tests.release.checks", str(folder / "dist"), again, *session.posargs)
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    session.run("check-wheel-contents", str(wheel))
    run_installed(session, wheel, folder / "venv")
    shutil.rmtree("dist", ignore_errors=True)
    shutil.copytree(folder / "dist", "dist")
    code = "import sys; from brokerage_async._generated import openapi; sys.stdout.write(openapi())"
    with open("openapi.json", "w", encoding="utf-8") as output:  # a file of the release, beside what goes to PyPI
        session.run("python", "-c", code, stdout=output)


@nox.session(python="3.13")
def lock(session: nox.Session) -> None:
    """Write ``pylock.release.toml``: what a final release is built with, on Linux with Python 3.13, by hash."""
    session.install(PIP)
    wanted = ["nox", "editables", "hatchling>=1.28", *group("release"), *PYPROJECT["project"]["dependencies"]]
    session.run("pip", "lock", "-o", LOCK, *wanted)


def run_installed(session: nox.Session, wheel: Path, venv: Path) -> None:
    """Install the wheel in an empty virtual environment, and run the demo without any settings."""
    session.run("python", "-m", "venv", "--clear", str(venv))
    programs = venv / ("Scripts" if sys.platform == "win32" else "bin")
    session.run(str(programs / "python"), "-m", "pip", "install", "--quiet", f"{wheel}[cli]", external=True)
    session.run(str(programs / "python"), "-m", "pip", "check", external=True)
    home = venv / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    with session.chdir(home):
        session.run(
            str(programs / "brokerage-async"), "demo",
            env={**kept, "HOME": str(home), "PYTHONUTF8": "1"}, include_outer_env=False, external=True,
        )  # fmt: skip


@nox.session
def proofs(session: nox.Session) -> None:
    """Prove the promises over many seeds, histories and kills: ``nox -s proofs -- explore --scope fences``."""
    run(session, "tests", "python -m tests.proofs", package=ALL_EXTRAS)


@nox.session
def books(session: nox.Session) -> None:
    """Orders of all kinds, and the books computed a second time, of one seed: ``nox -s books -- SEEDS FIRST``."""
    run(session, "tests", "python -m tests.proofs.books", "1", package=".")


@nox.session
def interop(session: nox.Session) -> None:
    """Clients that others wrote, unchanged, call by call against the simulator. Writes a report."""
    session.install("-e", ".", *group("interop"))
    folder = from_npm(session, "@tastytrade/api")
    # Without Node the page is not written: it keeps its statements on both clients.
    options = ["--javascript", folder, "--page", "docs/reference/reports/interop.md"] if folder else []
    session.run("python", "-m", "tests.proofs.interop", *options)
    session.run("python", "-m", "tests.proofs.interop.python_streams")
    if folder:
        session.run("python", "-m", "tests.proofs.interop.javascript_streams", folder)
    session.run("python", "-m", "tests.proofs.interop.pages")


def from_npm(session: nox.Session, *packages: str) -> str:
    """Install packages of Node in a temporary folder, and return it. Warn and return "" without Node or npm."""
    if not (shutil.which("node") and shutil.which("npm")):
        session.warn(f"no Node or npm here: {', '.join(packages)} are skipped")
        return ""
    folder = session.create_tmp()
    session.run("npm", "install", "--silent", "--prefix", folder, *packages, external=True)
    return folder


#: Tools from npm that read the bundled schema. These versions run on Node 20.
NODE_TOOLS = [
    "@hey-api/openapi-ts@0.95.0",
    "@redocly/cli@2.77.0",
    "@stoplight/spectral-cli@6.16.3",
    "openapi-typescript@7.13.0",
    "typescript@5.9.3",
]


@nox.session
def schema(session: nox.Session) -> None:
    """Generators, linters and Redoc on the bundled schema: typed rows for every list, no body refused, no error."""
    session.install("-e", ".", *group("schema"))
    if not shutil.which("java"):
        session.warn("no Java here: openapi-generator is skipped")
    folder = from_npm(session, *NODE_TOOLS)
    session.run("python", "-m", "tests.proofs.generators", *(["--node", folder] if folder else []))


@nox.session
def explore(session: nox.Session) -> None:
    """Every history of order entry in a small scope, then 100,000 of larger ones: ``nox -s explore -- --exhaust``."""
    run(session, "tests", "python -m tests.proofs.explore", "--exhaust --histories 100000", package=".")


@nox.session
def bench(session: nox.Session) -> None:
    """Benchmarks beside the peers: ``nox -s bench -- --quick`` or ``-- --check``."""
    run(session, "bench", "python -m benchmarks")


@nox.session
def waiting(session: nox.Session) -> None:
    """Seconds that a user waits behind a slow link: ``nox -s waiting -- --rounds 7 --rate 20 --round-trip 50``."""
    run(session, "bench", "python -m benchmarks.waiting", package=".")


@nox.session
def postgres(session: nox.Session) -> None:
    """Run the journal tests on a real PostgreSQL server (Debian's package). Says so without one."""
    run(session, "tests", "pytest -q -rs -m postgres", package=ALL_EXTRAS)


@nox.session
def contract(session: nox.Session) -> None:
    """The bundled schema against the simulator, by schemathesis: ``nox -s contract -- --examples 50 --seed 2``."""
    run(session, "contract", "python -m tests.proofs.contract", package=".")


@nox.session
def browser(session: nox.Session) -> None:
    """Test the simulator's page in a real Chromium (Debian's package). Says so without one."""
    run(session, "browser", "pytest -q -rs -m browser", "tests/browser tests/examples", package=".[cli]")


@nox.session
def fleet(session: nox.Session) -> None:
    """Run the tests and proofs of a fleet on real engines (Debian's packages). Says so without them."""
    session.install("-e", ".[redis,otel]", *group("tests"))
    engines = [name for name in ("redis-server", "valkey-server") if shutil.which(name)]
    if not engines:
        session.warn("neither redis-server nor valkey-server is here (Debian packages of these names): nothing is run")
        return
    for engine in engines:
        env = {"FLEET_ENGINE": engine}
        session.run("pytest", "-q", "-rs", "-m", "redis", "tests/fleet", env=env)
        for program in ("cold_start", "shared_budget", "outage"):
            session.run("python", "-m", f"tests.fleet.{program}", env=env)
        session.run("python", "-m", "tests.fleet.feed", "10000", env=env)
    if len(engines) < 2:
        session.warn(f"only {engines[0]} is here: the other engine is skipped")
    session.run("python", "-m", "benchmarks.fleet", "--check")
