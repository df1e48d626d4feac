"""The programs of ``benchmarks/hostile`` compile, and what is typed for them names programs that are there."""

from __future__ import annotations

import tomllib
from pathlib import Path

HOSTILE = Path(__file__).parents[2] / "benchmarks/hostile"


def test_each_program_compiles_and_its_kind_and_command_are_known():
    said = tomllib.loads((HOSTILE / "programs.toml").read_text())
    kinds = said.pop("kinds")
    sources = {folder.name: sorted(folder.rglob("*.py")) for folder in (HOSTILE / "programs").iterdir()}
    assert {name.split("-")[0] for name in sources} == set(kinds)
    assert set(said) <= set(sources)
    for name, paths in sources.items():
        assert paths, name
        for path in paths:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
