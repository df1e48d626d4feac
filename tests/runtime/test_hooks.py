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
    folders = [PACKAGE / "streams" / name for name in ("torch", "keras", "tensorflow", "jax")]
    files = {path.relative_to(PACKAGE) for folder in (*folders, PACKAGE / "trainers") for path in folder.glob("*.py")}
    modules = {".".join(path.with_suffix("").parts) for path in files if path.stem != "__init__"}
    # Parts of a framework's streams that other files of its folder import.
    assert modules - named == {
        "streams.tensorflow.data",
        "streams.tensorflow.objects",
        "streams.torch.objects",
        "streams.torch.order",
        "streams.torch.states",
    }


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
