"""Run small programs in real processes with the runtime in them."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import Parent, shared_folder
from programs import FACTORS, INJECTED, METRICS, Both, Outcome, Run, clean_environment, other_pythons, read_outcome

from deviate.source.edits import Edit, Instrumented, span_of
from deviate.source.overlay import instrument_source


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The overlay: the folder programs stand in."""
    folder = tmp_path / "overlay"
    folder.mkdir()
    return folder


#: Of frameworks that say much.
QUIET = {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}

#: What parents of programs have imported.
WARM = {
    "torch": ("numpy", "torch", "torch._dynamo"),
    "jax": ("numpy", "jax", "flax", "flax.training.train_state", "optax"),
    "keras": ("tensorflow", "keras"),
    "sklearn": ("numpy", "sklearn.datasets", "sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection"),
}


@pytest.fixture(scope="session")
def parents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Parent]]:
    """Return a function that gives the parent with a framework, which is started once."""
    started: dict[str, Parent] = {}

    def parent(name: str) -> Parent:
        if name not in started:
            variables = {**clean_environment(), "PYTHONPATH": str(INJECTED), **QUIET}
            started[name] = Parent(WARM[name], variables, shared_folder(tmp_path_factory) / f"runtime-{name}")
        return started[name]

    yield parent
    for each in started.values():
        each.close()


@pytest.fixture
def run(tmp_path: Path, work: Path, parents: Callable[[str], Parent]) -> Run:
    """Run a program with the runtime in its process, and read what it left behind.

    With `warm` it runs in a fork of a process that has imported a framework, as runs do that `deviate run` starts warm.
    """

    def run_program(
        source: str,
        *words: str,
        python: str = sys.executable,
        records: str | None = None,
        runtime: bool = True,
        environment: dict[str, str] | None = None,
        path: tuple[Path, ...] = (),
        seed: int | None = None,
        warm: str = "",
        **config: Any,
    ) -> Outcome:
        folder = tmp_path / "records"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (work / "program.py").write_text(source, encoding="utf-8")
        settings = {
            "schema": 1,
            "records": str(folder) if records is None else records,
            "original": str(tmp_path / "original"),
            "overlay": str(work),
            "kept": [],
            "control": None if seed is None else "streams",
            "seeds": None if seed is None else dict.fromkeys(FACTORS, seed),
            "varying": list(FACTORS),
            "hold_impl": False,
            "threads": None,
            "metrics": METRICS,
            **config,
        }
        (tmp_path / "runtime.json").write_text(json.dumps(settings))
        variables = {**clean_environment(), **(environment or {})}
        entries = [str(INJECTED), *map(str, path)] if runtime else list(map(str, path))
        if runtime:
            variables["DEVIATE_RUNTIME"] = str(tmp_path / "runtime.json")
        variables["PYTHONPATH"] = os.pathsep.join(entries)
        if warm:
            job = {
                "runtime": str(tmp_path / "runtime.json") if runtime else None, "program": "program.py",
                "words": words[1:], "folder": str(work), "output": str(folder / "stdout.log"),
                "errors": str(folder / "stderr.log"), "variables": environment or {},
                "path": [str(work), *map(str, path)],
            }  # fmt: skip
            (status,) = parents(warm).run_jobs([job])
            printed = [Path(job[name]).read_bytes().decode(errors="surrogateescape") for name in ("output", "errors")]
            return read_outcome(folder, status, printed)
        command = [python, *(words or ("program.py",))]
        with (folder / "stdout.log").open("w+b") as stdout, (folder / "stderr.log").open("w+b") as stderr:
            finished = subprocess.run(
                command, cwd=work, env=variables, stdout=stdout, stderr=stderr, timeout=120, check=False
            )
            printed = [file.seek(0) or file.read().decode(errors="surrogateescape") for file in (stdout, stderr)]
        return read_outcome(folder, finished.returncode, printed)

    return run_program


@pytest.fixture(params=[sys.executable, *other_pythons()], ids=lambda path: Path(path).resolve().name)
def python(request: pytest.FixtureRequest) -> str:
    """This Python, and others."""
    return str(request.param)


def wrap_losses(source: bytes) -> Instrumented:
    """Record every use of the name ``loss``."""
    uses = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id == "loss")
    edits = [Edit(span=span_of(use), before="__dv__(0, ") for use in uses if isinstance(use.ctx, ast.Load)]
    result = instrument_source(source, edits)
    assert result.done
    return result


@pytest.fixture
def both(run: Run, work: Path, tmp_path: Path) -> Both:
    """Run a program bare and with code given for its files; both must look the same. Return what was recorded.

    Where only the bare one runs in a fork of a process that has imported a framework, that is `bare_in`.
    """

    def run_both(
        source: str, *words: str, files: dict[str, str] | None = None, bare_in: str = "", **kwargs: Any
    ) -> Outcome:
        source = textwrap.dedent(source)
        texts = {"program.py": source, **{name: textwrap.dedent(text) for name, text in (files or {}).items()}}
        given = {}
        for number, (name, text) in enumerate(texts.items()):
            if "loss" in text:
                place = tmp_path / f"{number}.py"
                wrapped = wrap_losses(text.encode())
                place.write_bytes(wrapped.data)
                place.with_suffix(".json").write_text(json.dumps(wrapped.columns))
                size, crc = len(text.encode()), zlib.crc32(text.encode())
                file = {"text": str(place), "size": size, "crc": crc, "written": 0, "imports": wrapped.imports}
                given[name] = file

        def once(**config: Any) -> Outcome:
            for name, text in texts.items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text, encoding="utf-8")
            return run(source, *words, **{**kwargs, **config})

        bare = once(runtime=False, **({"warm": bare_in} if bare_in else {}))
        seen = once(instrumented=given)
        assert (seen.stdout, seen.stderr, seen.status) == (bare.stdout, bare.stderr, bare.status)
        return seen

    return run_both
