"""The programs of this folder, and what is typed for each."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

#: Names of the files into which a program writes its losses itself.
TRUTHS = ("losses.bin", "losses.npy")


@dataclass(frozen=True)
class Program:
    """A program and how it is started."""

    name: str
    #: A shell line in which ``{deviate}`` stands where the tool is put.
    line: str = "{deviate} python train.py"
    #: A shell line before it, in the copy.
    setup: str = ""
    #: Where the line is typed, below the program's folder.
    folder: str = ""
    truth: str = ""
    needs: tuple[str, ...] = ()
    #: Options of ``deviate run``.
    options: str = ""
    #: Regular expression of the reason with which Deviate may refuse the run.
    refused: str = ""
    #: Why the digits that it prints are all that can be seen of its losses; empty where every bit must be recorded.
    digits: str = ""

    @property
    def kind(self) -> str:
        """The kind: the first word of the name."""
        return self.name.split("-")[0]

    @property
    def source(self) -> Path:
        """The folder of the program."""
        return HERE / "programs" / self.name


def read_programs(chosen: Sequence[str], python: Path) -> list[Program]:
    """Return the chosen programs, kind by kind, without those that need what `python` does not have."""
    said = tomllib.loads((HERE / "programs.toml").read_text())
    kinds = said.pop("kinds")
    names = sorted(
        (folder.name for folder in (HERE / "programs").iterdir()),
        key=lambda name: (kinds.index(name.split("-")[0]), name),
    )
    programs = [made(name, said.get(name, {})) for name in names if is_chosen(name, chosen)]
    missing = {module for module in {need for each in programs for need in each.needs} if not has(python, module)}
    return [program for program in programs if not missing & set(program.needs)]


def made(name: str, said: dict[str, str]) -> Program:
    """Return a program with what is said of it."""
    command = said.pop("command", "")
    line = {"line": f"{{deviate}} {command}"} if command else {}
    return Program(name, **{**said, **line, "needs": tuple(said.get("needs", ()))})  # type: ignore[arg-type]


def is_chosen(name: str, chosen: Sequence[str]) -> bool:
    """Tell whether a program is among those asked for, all where none is."""
    return not chosen or any(name == word or name.startswith(f"{word}-") for word in chosen)


def has(python: Path, module: str) -> bool:
    """Tell whether an interpreter can import a module."""
    words = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", words], check=False).returncode == 0
