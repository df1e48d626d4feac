"""What holds for all tests."""

import contextlib
import gc
import importlib
import os
import signal
import sys
from pathlib import Path

import pytest
from click import ClickException
from click.exceptions import Abort, Exit
from click.testing import CliRunner
from forking import shared_folder
from profiles import register

from deviate.core.errors import DeviateError

register()

# What the tests of factors share asserts too, and says what differs.
pytest.register_assert_rewrite("factor_runs")

# Tests that a shell runs in its background inherit that Ctrl-C is ignored, and would hand it on to what they run.
signal.signal(signal.SIGINT, signal.default_int_handler)
# So does nohup that a hang-up is.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Import a part of all files first, each worker another one: it rewrites assertions, and keeps them for the others.

    In a fresh checkout that takes half a minute, which all workers would spend on the same file at the same time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not session.config.ArgsSource.TESTPATHS:
        return
    for path in sorted(Path(__file__).parent.rglob("test_*.py"))[int(worker["workerid"][2:]) :: worker["workercount"]]:
        if sys.path[0] != str(path.parent):
            sys.path.insert(0, str(path.parent))
        # Whatever a file raises, as the skip of all its tests, it raises again when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(path.stem)


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect():
    """Freeze what is left of earlier modules: statsmodels collects garbage whenever it adjusts p-values."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let the interpreter end as it would."""
    gc.unfreeze()


#: What JAX compiles is kept for the session: programs compile the same operations over and over. They trace them anew.
JAX_CACHE = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(shared_folder(tmp_path_factory) / "compiled"))
        for name, value in JAX_CACHE.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session", autouse=True)
def _waits_for_no_disk():
    """What a power cut would take back nobody tests: a disk takes milliseconds for each file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


#: Ways in which a command ends that its tests look at themselves.
REFUSALS = (DeviateError, ClickException, Abort, Exit, SystemExit, KeyboardInterrupt)


@pytest.fixture(scope="session", autouse=True)
def _no_crash_is_kept_back():
    """Raise what a command raised, but refusals: CliRunner keeps it, and a test that reads the output may pass."""
    invoke = CliRunner.invoke

    def raising(*args, **kwargs):
        done = invoke(*args, **kwargs)
        if done.exception is not None and not isinstance(done.exception, REFUSALS):
            raise done.exception
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CliRunner, "invoke", raising)
        yield


@pytest.fixture(scope="session", autouse=True)
def _caches_of_its_own(pytestconfig):
    """Keep what Deviate caches within the checkout, and from one session of tests to the next."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(pytestconfig.cache.mkdir("home"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
