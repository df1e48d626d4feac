"""How a project's own documents start a script: what its options usually are, where no command is given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from deviate.analyse.settings.arguments import Arguments, words_after
from deviate.analyse.source.documents import read_texts, shell_scripts
from deviate.analyse.source.shell import simple_commands
from deviate.paths import globbed

#: Marks before a command in a text, and what stands for something that the reader fills in.
_PROMPT = re.compile(r"^\s*(?:[$>%#*-]\s+|`+(?:bash|sh|shell|python(?=python))?\s*)+")
_OPEN = re.compile(r"[$<>\[\]{}|]|\.\.\.|^/?path|your", re.IGNORECASE)

#: What stands for further options.
_WORDY = re.compile(r"<[^<>]*\s[^<>]*>|\[[^\[\]]*\s[^\[\]]*\]")
_NOTE = re.compile(r"[<\[{(].*[>\]})]$|\.\.\.$|[<\[]-")

#: What starts a script.
_STARTS = re.compile(r"python|torchrun|accelerate|deepspeed")

#: Words of commands that do not train.
_BESIDE = re.compile(r"^--?h(elp)?$|\b(test|eval|evaluate|validate|infer|inference|predict|export|demo|sample)\b")


def documented_arguments(root: Path, entry: Path) -> Arguments:
    """Return what the commands have in common by which the README and the shell scripts of a project start a script.

    An option for which they give different words, or a placeholder, is there without words: what it is, is not known.
    A switch is as the first command has it.
    Words that are read by their place have no default: those of the first command count, up to a placeholder. For
    options that have none either, and for ``name=value``, its words are in ``first``.
    """
    commands: list[list[str]] = []
    for paths in _documents(root, entry):
        commands = commands or [words for _, text in read_texts(paths) for words in _commands(text, root, entry)]
    given = [Arguments(_without_notes(words)) for words in commands]
    common = Arguments([])
    for name in dict.fromkeys(name for each in given for name in each.options):
        values = [each.options.get(name) for each in given]
        words = values[0]
        if words is None:
            continue  # an option of later commands alone is what it is by default
        if not any(values):
            common.options[name] = []
            continue
        own = [word for word in words if "=" not in word]  # what others are assigned stands behind it
        is_plain = not any(map(_OPEN.search, own))
        is_same = is_plain and values.count(words) == len(values)
        common.options[name] = words if is_same else [""] * 2
        if not is_same:
            common.differing[name] = Counter(each[0] for each in values if each is not None and len(each) == 1)
        if is_plain:
            common.first[name] = words
    for name in dict.fromkeys(name for each in given for name in each.assigned):
        assigned = {each.assigned.get(name) for each in given}
        if len(assigned) == 1:
            common.assigned[name] = str(assigned.pop())
        elif name in given[0].assigned:
            common.first[name] = [given[0].assigned[name]]
    for command in commands[:1]:
        common.leading = list(takewhile(lambda word: not _NOTE.match(word), Arguments(command).leading))
    common.values = [*common.leading, *common.assigned.values(), *(w for each in common.options.values() for w in each)]
    return common


def _documents(root: Path, entry: Path) -> Iterator[list[Path]]:
    """Yield the README files, then the shell scripts, which count where no README says how to start the entry."""
    folders = dict.fromkeys([*(folder for folder in entry.parents if folder.is_relative_to(root)), *root.parents[:2]])
    yield [path for folder in folders for path in globbed(folder, "README*")]
    yield shell_scripts(root)


def _commands(text: str, root: Path, entry: Path) -> Iterator[list[str]]:
    """Yield the words after the script in each line that starts it."""
    if entry.name not in text and entry.stem not in text:
        return
    joined = re.sub(r"\\\s*\n", " ", text)
    named = (line for line in joined.splitlines() if entry.stem in line)
    lines = (_WORDY.sub("...", _PROMPT.sub("", line)).replace("`", " ") for line in named)
    name = entry.relative_to(root).as_posix() if entry.is_relative_to(root) else entry.name
    for line in lines:
        for words, _ in simple_commands(line, root):
            after = words_after(words, name)
            before = words[: len(words) - len(after) - 1][:6] if after is not None else []
            starts = any(map(_STARTS.search, before))
            if after is not None and starts and not any(map(_BESIDE.search, after)):
                yield after


def _without_notes(words: list[str]) -> list[str]:
    """Take out what stands for further options: ``<other options>`` behind a word that is no option."""
    pairs = zip(["", *words], words, strict=False)
    return [word for before, word in pairs if before.startswith("-") or not _NOTE.match(word)]
