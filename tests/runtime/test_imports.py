"""Watching imports changes nothing about them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from programs import Run


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with modules of the names that are watched, which behave in odd ways."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    return folder


SEEDED = {"seed": 7}


def test_a_reloaded_module_is_attended_to_again_and_once(run: Run, python: str) -> None:
    source = """
    import importlib, random
    first = random.seed
    random.seed(3); a = random.random()
    importlib.reload(random)
    random.seed(3); b = random.random()
    print(a == b)
    """
    outcome = run(textwrap.dedent(source), python=python, **SEEDED)
    assert (outcome.stdout, outcome.stderr) == ("True\n", "")
    assert {event["line"] for event in outcome.of("seed")} == {4, 6}


def test_a_library_in_an_unexpected_shape_is_noted(run: Run, stand_in: Path, python: str) -> None:
    (stand_in / "torch.py").write_text("version = 1")
    outcome = run(
        "import torch\nprint(torch.version)", python=python, path=(stand_in,), threads=2, hold_impl=True, **SEEDED
    )
    assert (outcome.stdout, outcome.stderr) == ("1\n", "")
    assert outcome.notes("library-unattended")


def test_an_import_that_fails_fails_as_it_would(run: Run, stand_in: Path) -> None:
    (stand_in / "torch.py").write_text("raise OSError('no library')")
    source = """
    import sys
    for _ in range(2):
        try:
            import torch
        except OSError as error:
            print(error)
    print("torch" in sys.modules)
    """
    assert run(textwrap.dedent(source), path=(stand_in,), **SEEDED).stdout == "no library\nno library\nFalse\n"


def test_a_circular_import_is_attended_to_when_complete(run: Run, stand_in: Path, python: str) -> None:
    folder = stand_in / "keras" / "src" / "utils" / "rng_utils"
    folder.mkdir(parents=True)
    for package in list(folder.parents)[:3]:
        (package / "__init__.py").touch()
    (folder / "__init__.py").write_text("from . import part\ndef set_random_seed(seed): print(seed)")
    (folder / "part.py").write_text("import sys\nseen = hasattr(sys.modules[__package__], 'set_random_seed')")
    outcome = run(
        "from keras.src.utils import rng_utils as r\nr.set_random_seed(4)\nprint(r.part.seen)",
        python=python,
        path=(stand_in,),
        **SEEDED,
    )
    (event,) = outcome.of("seed")
    assert (event["call"], event["line"], event["given"]) == ("keras.utils.set_random_seed", 2, "4")
    assert outcome.stdout == "4\nFalse\n"


def test_the_loader_and_the_spec_are_the_real_ones(run: Run, python: str) -> None:
    source = """
    import importlib.machinery, importlib.util, inspect, random, pickle
    print(type(random.__loader__).__name__, random.__spec__.loader is random.__loader__, vars(random.__loader__).keys())
    print(importlib.util.find_spec("random") is not None, len(inspect.getsource(random)) > 100)
    print(pickle.loads(pickle.dumps(random.Random)) is random.Random, type(random).__name__)
    """
    source = textwrap.dedent(source)
    assert run(source, python=python, **SEEDED).stdout == run(source, python=python, runtime=False).stdout


def test_a_lazily_loaded_module_is_attended_to_when_it_loads(run: Run) -> None:
    source = """
    import importlib.util, sys
    spec = importlib.util.find_spec("random")
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["random"] = module
    loader.exec_module(module)
    module.seed(3)
    """
    outcome = run(textwrap.dedent(source), **SEEDED)
    assert outcome.stderr == ""
    assert [event["call"] for event in outcome.of("seed")] == ["random.seed"]


def test_a_finder_without_find_spec_is_passed_over(run: Run) -> None:
    source = "import sys\nclass Old: pass\nsys.meta_path.insert(1, Old())\nimport random\nprint('on')"
    assert run(source, "-W", "ignore", "program.py", **SEEDED).stdout == "on\n"


def test_as_is_nothing_is_watched_for_seeds(run: Run, python: str) -> None:
    source = "import random\nrandom.seed(3)\nprint(random.random(), random.seed)"
    outcome = run(source.replace(", random.seed)", ", type(random.seed))"), python=python)
    bare = run(source.replace(", random.seed)", ", type(random.seed))"), python=python, runtime=False)
    assert outcome.stdout == bare.stdout
    assert outcome.of("seed") == []


def test_what_an_import_calls_maps_no_memory_at_each_call(run: Run, tmp_path: Path, python: str) -> None:
    # From Python 3.11 on a call at the end of a block of frames maps a block and drops it: at some depth, every call.
    library = """
    import resource

    def called():  # Its frame is larger than those below it, so that it is the one that meets the end of a block.
        a = b = c = d = e = f = g = h = i = j = k = l = m = n = o = p = q = r = s = t = u = v = w = x = y = z = None

    def faults(depth):
        if depth:
            return faults(depth - 1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(500):
            called()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    most = max(faults(depth) for depth in range(250))
    """
    folder = tmp_path / "libraries"
    folder.mkdir()
    (folder / "sympy.py").write_text(textwrap.dedent(library))
    source = f"import sys\nsys.path.insert(0, {str(folder)!r})\nimport sympy\nprint(sympy.most < 400, sympy.most)"
    outcome = run(source, python=python, **SEEDED)
    assert outcome.stdout.startswith("True"), outcome.stdout + outcome.stderr
