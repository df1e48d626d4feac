"""Factors of draws that the user sets: ``[[draw]]`` in ``deviate.toml``, and ``--factor FILE:LINE=NAME``."""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from deviate.analyse.draws import COMPILED
from deviate.errors import BadInput, BadOption
from deviate.experiment import SET_BY_OPTION, Draw
from deviate.factors import SEEDED
from deviate.project.config import FILE_NAME, DrawEntry, bad_entry
from deviate.project.locations import function_around, parse_file, span_of, squash

#: Makes the error of a problem and a hint.
Refuse = Callable[[str, str], BadInput]

_OPTION = re.compile(r"(?P<file>.+):(?P<line>\d+)=(?P<factor>[\w-]+)")


@dataclass(frozen=True)
class ByHand:
    """Entries that the user wrote in one way."""

    entries: Sequence[DrawEntry]
    why: str
    #: What an entry, by its place, is called in messages.
    name: Callable[[int], str]
    #: Makes the error of an entry, by its place, a problem and a hint.
    refuse: Callable[[int, str, str], BadInput]


def listed_factors(entries: Sequence[DrawEntry], project: Path) -> ByHand:
    """Return what ``deviate.toml`` says of draws."""
    return ByHand(
        entries,
        why=f"set in {FILE_NAME}",
        name=lambda index: f"draw[{index}]",
        refuse=lambda index, problem, hint: bad_entry(f"draw[{index}]", project, problem, hint),
    )


def parse_factors(options: Sequence[str], project: Path) -> ByHand:
    """Return what the values of ``--factor`` say of draws.

    Raises
    ------
    BadOption
        If one is not FILE:LINE=NAME, or names no factor that is drawn for.
    """

    def refuse(index: int, problem: str, hint: str) -> BadInput:
        hint = f"{hint}, in {FILE_NAME} under [[draw]]" if hint.startswith("add") else hint
        return BadOption(f"--factor {options[index]}: {problem}", hint=hint)

    entries = [_parsed(option, functools.partial(refuse, index)) for index, option in enumerate(options)]
    return ByHand(entries, SET_BY_OPTION, name=lambda index: f"--factor {options[index]}", refuse=refuse)


def _parsed(option: str, refuse: Refuse) -> DrawEntry:
    matched = _OPTION.fullmatch(option)
    if matched is None:
        raise refuse("expected FILE:LINE=NAME", "for example --factor train.py:52=data")
    if matched["factor"] not in SEEDED:
        raise refuse(f"expected a factor that is drawn for, found {matched['factor']!r}", f"one of {', '.join(SEEDED)}")
    file = Path(matched["file"]).as_posix()
    return msgspec.convert({"file": file, "line": int(matched["line"]), "factor": matched["factor"]}, DrawEntry)


def set_factors(by_hand: ByHand, known: Sequence[Draw], project: Path) -> list[Draw]:
    """Return the draws with the factors that the user set; one the analysis does not know is added."""
    draws, set_by = list(known), dict[int, int]()
    for index, entry in enumerate(_placed(by_hand.entries, project)):
        refuse = functools.partial(by_hand.refuse, index)
        positions = _matching(entry, draws, refuse)
        if not positions:
            positions = [len(draws)]
            draws.append(_added_draw(entry, project, refuse))
        for position in positions:
            if position in set_by:
                problem = f"{by_hand.name(set_by[position])} sets the factor of the same call"
                raise refuse(problem, "delete one of the two entries")
            set_by[position] = index
            draws[position] = _set_factor(entry, draws[position], project, by_hand.why, refuse)
    return draws


def _placed(entries: Sequence[DrawEntry], project: Path) -> list[DrawEntry]:
    """Return the entries with files as the analysis names them: outside the project by their absolute paths."""
    root = Path(os.path.abspath(project))
    files = [Path(os.path.normpath(root / entry.file)) for entry in entries]
    names = [(file.relative_to(root) if file.is_relative_to(root) else file).as_posix() for file in files]
    return [msgspec.structs.replace(entry, file=name) for entry, name in zip(entries, names, strict=True)]


def _matching(entry: DrawEntry, draws: Sequence[Draw], refuse: Refuse) -> list[int]:
    """Return the positions of the draws that an entry means; an edit above a draw moves its line."""
    in_file = [position for position, draw in enumerate(draws) if draw.file == entry.file]
    exact = [position for position in in_file if squash(draws[position].call) == squash(entry.call)]
    # `np.random.rand` as it is written is `numpy.random.rand`.
    ending = "." + (squash(entry.call).partition(".")[2] or squash(entry.call))
    alike = [position for position in in_file if not entry.call or f".{squash(draws[position].call)}".endswith(ending)]
    at_line = _on(entry.line, exact, draws) or _on(entry.line, alike, draws)
    calls = sorted({draws[position].call for position in at_line})
    if len(calls) > 1:
        problem = f"line {entry.line} of {entry.file} has several draws: {', '.join(calls)}"
        raise refuse(problem, f'add the one that is meant: call = "{calls[0]}"')
    return at_line or (exact if len(exact) == 1 else [])


def _on(line: int, positions: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    return [position for position in positions if draws[position].line == line]


def _set_factor(entry: DrawEntry, draw: Draw, project: Path, why: str, refuse: Refuse) -> Draw:
    if draw.why.endswith(COMPILED):
        problem = f"the factor of {draw.call} on line {draw.line} of {draw.file} cannot be set: {COMPILED}"
        raise refuse(problem, "delete the entry, or draw outside of the compiled code")
    at_draw = msgspec.structs.replace(entry, line=draw.line, call=draw.call)
    span = draw.span or _added_draw(at_draw, project, refuse).span
    return msgspec.structs.replace(draw, factor=entry.factor, why=why, span=span, by_hand=True)


def _last_name(call: str) -> str:
    return squash(call).rpartition(".")[2]


def _added_draw(entry: DrawEntry, project: Path, refuse: Refuse) -> Draw:
    """Make a draw of the call that the user names by file and line."""
    tree = parse_file(project / entry.file, refuse)
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.lineno == entry.line
        and (not entry.call or _last_name(ast.unparse(node.func)) == _last_name(entry.call))
    ]
    if not nodes or (len(nodes) > 1 and not entry.call):
        which = f"no call of {entry.call!r}" if entry.call else "no draw"
        problem = f"{which} on line {entry.line} of {entry.file}"
        raise refuse(problem, "type `deviate extract ENTRY` to see the draws and their lines")
    callee = nodes[0].func
    return Draw(
        file=entry.file,
        line=entry.line,
        function=function_around(tree, callee),
        call=ast.unparse(callee),
        factor=entry.factor,
        why="",
        span=span_of(callee),
    )
