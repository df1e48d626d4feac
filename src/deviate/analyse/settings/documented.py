"""How a project's own documents start a script: what its options usually are, where no command is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from deviate.analyse.settings.arguments import Arguments, words_after
from deviate.analyse.source.shell import simple_commands

#: Texts larger than this, and shell scripts beyond so many, are not searched.
MAX_BYTES = 500_000
MAX_SCRIPTS = 60

#: Marks before a command in a text, and what stands for something that the reader fills in.
_PROMPT = re.compile(r"^\s*(?:[$>%#*-]\s+|`+(?:bash|sh|shell|python(?=python))?\s*)+")
_OPEN = re.compile(r"[$<>\[\]{}|]|\.\.\.|^/?path|your", re.IGNORECASE)

#: What stands for further options.
_WORDY = re.compile(r"<[^<>]*\s[^<>]*>|\[[^\[\]]*\s[^\[\]]*\]")
_NOTE = re.compile(r"[<\[{(].*[>\]})]$|\.\.\.$|[<\[]-")

#: Words of commands that do not train.
_BESIDE = re.compile(r"^--?h(elp)?$|\b(test|eval|evaluate|validate|infer|inference|predict|export|demo|sample)\b")


def documented_arguments(root: Path, entry: Path) -> Arguments:
    """Return what the commands have in common by which the README and the shell scripts of a project start a script.

    An option for which they give different words, or a placeholder, is there without words: what it is, is not known.
    """
    commands: list[Arguments] = []
    for paths in _documents(root, entry):
        commands = commands or [Arguments(words) for text in _texts(paths) for words in _commands(text, root, entry)]
    common = Arguments([])
    for name in dict.fromkeys(name for command in commands for name in command.options):
        given = [command.options.get(name) for command in commands]
        words = given[0]
        is_same = words is not None and given.count(words) == len(given) and not any(map(_OPEN.search, words))
        common.options[name] = words if is_same and words is not None else [""] * 2
    for name in dict.fromkeys(name for command in commands for name in command.assigned):
        values = {command.assigned.get(name) for command in commands}
        if len(values) == 1:
            common.assigned[name] = str(values.pop())
    kept = {tuple(command.leading) for command in commands}
    common.leading = list(kept.pop()) if len(kept) == 1 else []
    common.values = [*common.leading, *common.assigned.values(), *(w for each in common.options.values() for w in each)]
    return common


def _documents(root: Path, entry: Path) -> Iterator[list[Path]]:
    """Yield the README files, then the shell scripts, which count where no README says how to start the entry."""
    folders = dict.fromkeys([*(folder for folder in entry.parents if folder.is_relative_to(root)), *root.parents[:2]])
    yield [path for folder in folders for path in sorted(folder.glob("README*"))]
    yield sorted(path for pattern in ("*.sh", "*/*.sh") for path in root.glob(pattern))[:MAX_SCRIPTS]


def _texts(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        try:
            if path.is_file() and path.stat().st_size <= MAX_BYTES:
                yield path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue


def _commands(text: str, root: Path, entry: Path) -> Iterator[list[str]]:
    """Yield the words after the script in each line that starts it."""
    if entry.name not in text and entry.stem not in text:
        return
    joined = re.sub(r"\\\s*\n", " ", text)
    named = (line for line in joined.splitlines() if entry.stem in line)
    lines = (_WORDY.sub("", _PROMPT.sub("", line)).replace("`", " ") for line in named)
    name = entry.relative_to(root).as_posix() if entry.is_relative_to(root) else entry.name
    for line in lines:
        for words, _ in simple_commands(line, root):
            starts = any(re.search(r"python|torchrun|accelerate|deepspeed", word) for word in words[:6])
            after = words_after(words, name) if starts else None
            if after is not None and not any(map(_BESIDE.search, after)):
                yield _without_notes(after)


def _without_notes(words: list[str]) -> list[str]:
    """Take out what stands for further options: ``<other options>`` behind a word that is no option."""
    pairs = zip(["", *words], words, strict=False)
    return [word for before, word in pairs if before.startswith("-") or not _NOTE.match(word)]
