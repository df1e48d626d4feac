"""The runtime's records of frameworks: what they name exists, and all files by framework are named."""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path
from typing import Any

import pytest
from programs import FACTORS, INJECTED, Run

PACKAGE = INJECTED / "deviate_runtime"


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(INJECTED))
    return importlib.import_module("deviate_runtime.frameworks")


def test_every_hook_is_a_function_of_the_runtime(records: Any) -> None:
    for module, target in records.every("hooks"):
        file, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(f"deviate_runtime.{file}"), function)), (module, target)


def test_every_row_has_its_fields(records: Any) -> None:
    for module, paths, factor, within in records.every("boundaries"):
        assert module
        assert paths.split()
        assert {factor, *(within or ())} <= set(FACTORS)
    for _, path, kind in records.every("epochs"):
        assert "." in path
        assert kind in (records.EPOCH, records.LOGS)
    assert all(path and value is not None for _, path, value in records.every("switches"))
    names = [framework.name for framework in records.FRAMEWORKS]
    assert len(set(names)) == len(names)


def test_files_by_framework_are_reached_from_a_record(records: Any) -> None:
    named = {target.partition(":")[0] for _, target in records.every("hooks")}
    folders = [PACKAGE / "streams" / name for name in ("torch", "jax")]
    files = {path.relative_to(PACKAGE) for folder in folders for path in folder.glob("*.py")}
    modules = {".".join(path.with_suffix("").parts) for path in files if path.stem != "__init__"}
    assert not modules - named


def test_a_boundary_of_the_table_draws_for_its_factor(run: Run, tmp_path: Path, python: str) -> None:
    library = tmp_path / "libraries" / "accelerate"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "data_loader.py").write_text(
        "import random\ndef prepare_data_loader(name, *, times):\n    return [random.random() for _ in range(times)]\n"
    )
    source = """
    import random
    from accelerate.data_loader import prepare_data_loader
    print(prepare_data_loader("a", times=2))
    print(random.random())
    print(prepare_data_loader.__name__)
    """

    def printed(**other: int) -> list[str]:
        seeds = {**dict.fromkeys(FACTORS, 1), **other}
        outcome = run(textwrap.dedent(source), python=python, path=(library.parent,), control="streams", seeds=seeds)
        assert outcome.status == 0, outcome.stderr
        assert not outcome.of("note")
        return outcome.stdout.splitlines()

    control, shuffled, others = printed(), printed(shuffle=2), printed(other=2)
    assert control[2] == "prepare_data_loader"
    assert [one == two for one, two in zip(control, shuffled, strict=True)] == [False, True, True]
    assert [one == two for one, two in zip(control, others, strict=True)] == [True, False, True]


def test_a_switch_of_the_table_is_set_and_written_down(run: Run, tmp_path: Path, python: str) -> None:
    library = tmp_path / "libraries" / "tensorflow"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(
        textwrap.dedent("""
        class config:
            class experimental:
                def enable_op_determinism():
                    print("deterministic")
        """)
    )
    outcome = run("import tensorflow", python=python, path=(library.parent,), hold_impl=True)
    assert (outcome.stdout, outcome.stderr) == ("deterministic\n", "")
    assert [(event["name"], event["value"]) for event in outcome.of("switch")] == [
        ("tensorflow.config.experimental.enable_op_determinism", True)
    ]
    assert run("import tensorflow", python=python, path=(library.parent,)).stdout == ""


LEGACY_BACKEND = """
class RandomGenerator:
    def __init__(self, seed=None, rng_type=None):
        self.seed, self._built = seed, False
    def _create_seed(self, seed):
        return seed
    def _maybe_init(self):
        self._built = True
"""
INITIALIZERS = """
class Uniform:
    def __init__(self, seed):
        self.generator = RandomGenerator(seed)
"""


def write_module(folder: Path, name: str, source: str) -> None:
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    for parent in path.relative_to(folder).parents[:-1]:
        (folder / parent / "__init__.py").touch()


@pytest.mark.parametrize("package", ["keras", "keras.src", "tf_keras.src"])
def test_seeds_of_keras_2_are_their_holders(run: Run, tmp_path: Path, python: str, package: str) -> None:
    write_module(tmp_path / "libraries", f"{package}.backend", LEGACY_BACKEND)
    importing = f"from {package}.backend import RandomGenerator\n"
    write_module(tmp_path / "libraries", f"{package}.initializers", importing + INITIALIZERS)
    source = f"from {package}.initializers import Uniform\nprint(int(Uniform(3).generator.seed))"

    def printed(**other: int) -> str:
        seeds = {**dict.fromkeys(FACTORS, 1), **other}
        outcome = run(source, python=python, path=(tmp_path / "libraries",), control="streams", seeds=seeds)
        assert outcome.status == 0, outcome.stderr
        assert not outcome.of("note")
        return outcome.stdout

    assert printed() == printed(shuffle=2) != printed(init=2)


@pytest.mark.parametrize(("module", "noted"), [("keras.src.backend.common", 0), ("keras.src.backend", 1)])
def test_hooks_of_keras_2_pass_keras_3_over(run: Run, tmp_path: Path, python: str, module: str, noted: int) -> None:
    """There the backend is a folder; a file without what Keras 2 draws with is of a version that is not known."""
    write_module(tmp_path / "libraries", module, "")
    write_module(tmp_path / "libraries", "keras.src.optimizers.optimizer", "class Optimizer: pass\n")
    source = f"import {module}, keras.src.optimizers.optimizer"
    seeds = dict.fromkeys(FACTORS, 1)
    outcome = run(source, python=python, path=(tmp_path / "libraries",), control="streams", seeds=seeds)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert len(outcome.notes("library-unattended")) == noted
