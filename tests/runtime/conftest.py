"""Run small programs in real processes with the runtime in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from programs import FACTORS, INJECTED, METRICS, Outcome, Run, clean_environment, other_pythons, read_outcome


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The overlay: the folder programs stand in."""
    folder = tmp_path / "overlay"
    folder.mkdir()
    return folder


@pytest.fixture
def run(tmp_path: Path, work: Path) -> Run:
    """Run a program with the runtime in its process, and read what it left behind."""

    def run_program(
        source: str,
        *words: str,
        python: str = sys.executable,
        records: str | None = None,
        runtime: bool = True,
        environment: dict[str, str] | None = None,
        path: tuple[Path, ...] = (),
        seed: int | None = None,
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
