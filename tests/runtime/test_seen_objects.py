"""What the runtime puts in the place of callables looks, binds, copies and is pickled as they are."""

import json
import textwrap
from pathlib import Path

import pytest
from installed import require
from programs import Run

PROGRAM = Path(__file__).with_name("seen_objects.py").read_text(encoding="utf-8")

#: What a class in the place of one of C cannot have as that one: its methods are functions, it has a base.
OF_METHODS = {"__module__", "__qualname__", "repr", "signature", "source", "binds"}

PLAIN = ("builtins", "io", "random", "threading", "concurrent.futures.thread", "multiprocessing.process")
LIBRARIES = [
    (PLAIN, 7),
    (("numpy.random", "numpy.random.mtrand"), 9),
    (("torch", "torch.random", "torch.utils.data", "torch.nn.init", "torch.cuda"), 40),
]


def seen(run: Run, tmp_path: Path, modules: tuple[str, ...]) -> tuple[dict, dict]:
    words = ("program.py", str(tmp_path / "names"), *modules)
    with_runtime = run(PROGRAM, *words, seed=7)
    bare = run(PROGRAM, *words, runtime=False)
    assert (with_runtime.status, bare.status) == (0, 0), with_runtime.stderr + bare.stderr
    return json.loads(with_runtime.stdout), json.loads(bare.stdout)


@pytest.mark.parametrize(("modules", "least"), LIBRARIES, ids=["plain", "numpy", "torch"])
def test_what_is_replaced_is_seen_as_the_original(run: Run, tmp_path: Path, modules, least) -> None:
    require(modules[0].partition(".")[0])
    ours, bare = seen(run, tmp_path, modules)
    assert len(ours) >= least, sorted(ours)
    for name, found in ours.items():
        is_method = name.rpartition(".")[0].rpartition(".")[2] in ("Generator", "RandomState")
        names = set(found) - (OF_METHODS if is_method else set())
        different = {key: (found[key], bare[name][key]) for key in names if found[key] != bare[name][key]}
        assert not different, name


def test_pickles_of_a_run_load_without_deviate_and_the_other_way_round(run: Run, tmp_path: Path) -> None:
    require("numpy")
    source = f"""
    import abc, pickle, random, sys
    import numpy as np
    random.seed(1)
    np.random.seed(1)
    rng, own, old = random.Random(3), np.random.default_rng(3), np.random.RandomState(3)
    things = [random.random, random.getrandbits, random.seed, random.choice, rng, rng.random, rng.getrandbits,
              np.random.seed, np.random.rand, np.random.default_rng, np.random.Generator, np.random.RandomState,
              own, own.normal, old, old.rand]
    path = {str(tmp_path)!r} + "/" + sys.argv[1]
    if sys.argv[2] == "write":
        with open(path, "wb") as file:
            pickle.dump(things, file)
    with open(path, "rb") as file:
        loaded = pickle.load(file)
    assert [type(one).__name__ for one in things if isinstance(one, (random.Random, type))] == \\
        [type(one).__name__ for one in loaded if isinstance(one, (random.Random, type))]
    assert loaded[5].__self__ is loaded[4] and loaded[13].__self__ is loaded[12]
    assert type(loaded[12]) is np.random.Generator and type(loaded[14]) is np.random.RandomState
    assert isinstance(loaded[12], np.random.Generator) and isinstance(loaded[14], np.random.RandomState)
    for draw in (loaded[0], loaded[5], loaded[8], loaded[13], loaded[15]):
        assert isinstance(draw(), float), draw
    class Own(np.random.Generator, abc.ABC): pass
    assert Own(np.random.PCG64(1)).random() is not None
    class Draws:
        draw, bits = random.random, random.getrandbits
    assert 0 <= Draws().draw() < 1 and Draws().bits(3) < 8
    """
    source = textwrap.dedent(source)
    for written, read in ((True, False), (False, True), (True, True)):
        for runtime, way in ((written, "write"), (read, "read")):
            done = run(source, "program.py", "pickle", way, runtime=runtime, seed=7)
            assert done.status == 0, (written, read, way, done.stderr)
