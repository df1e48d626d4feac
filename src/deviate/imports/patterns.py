"""Lines of logs that are read with a template or a regular expression."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from deviate.core.errors import BadOption, NotImportable
from deviate.imports.roles import is_counter
from deviate.imports.rows import PATIENCE, Row, check_text, read_bytes, time_limit
from deviate.lexicon.words import split_of

#: Processor seconds that a pattern may take on all lines.
PATIENCE_IN_ALL = 30.0

#: Fields that begin a new run when they turn up.
RUN_FIELDS = ("run", "seed")

#: Of a longer line its beginning is looked at; a line of a log has some hundred characters.
LONGEST_LINE = 1 << 14

#: A number in a line.
NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|nan|inf(?:inity)?)"
_FIELD = re.compile(r"\{([^{}]+)\}")


class LinePattern:
    """The form of a line, with a name for each of its fields.

    Parameters
    ----------
    text : str
        A template, in which ``{name}`` stands for a number, ``...`` for anything and a blank for any blanks:
        ``Epoch {epoch} ... acc: {val acc}``. Or a regular expression with named groups.

    Raises
    ------
    BadOption
        If it names no field, or is no regular expression.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, str] = {}
        self._spent = 0.0
        source = text if "(?P<" in text else self._of_template(text)
        try:
            self.regex = re.compile(source, re.IGNORECASE if self.names else 0)
        except re.error as error:
            raise BadOption(f"--pattern {text!r} is no regular expression: {error}", hint=_EXAMPLE) from error
        self.names = self.names or {name: name for name in self.regex.groupindex}
        if not self.names:
            raise BadOption(f"--pattern {text!r} names no value", hint=_EXAMPLE)

    def match(self, line: str) -> Row:
        """Return the words of `line` by field; empty where it does not look like that.

        Raises BadOption if the pattern takes too long.
        """
        began = time.process_time()
        with time_limit(PATIENCE) as limit:
            match = self.regex.search(line[:LONGEST_LINE])
        self._spent += time.process_time() - began
        if limit.passed or self._spent > PATIENCE_IN_ALL:
            where = f"{PATIENCE:g} s on one line of {len(line):,} characters"
            where = where if limit.passed else f"{PATIENCE_IN_ALL:g} s on these lines"
            raise BadOption(
                f"--pattern {self.text!r} takes longer than {where}",
                hint="write more of the line's fixed words into the pattern, and fewer repeats",
            )
        if match is None:
            return {}
        return {self.names[group]: word for group, word in match.groupdict().items() if word is not None}

    def _of_template(self, text: str) -> str:
        # What stands between two `...` is looked for once, from where the one before it ended: the first place is right
        # where any is, and a line that lacks a piece takes no longer than one that has all.
        pieces = [""]
        for index, part in enumerate(_FIELD.split(text)):
            if index % 2:
                group = f"field{len(self.names)}"
                self.names[group] = part.strip()
                pieces[-1] += f"(?P<{group}>{NUMBER})"
            else:
                first, *more = re.split(r"\s*\.\.\.\s*", part)
                pieces[-1] += _literal(first)
                pieces += map(_literal, more)
        return r"\A" + "".join(f"(?>.*?{piece})" for piece in pieces if piece)


_EXAMPLE = "type for example: --pattern 'Epoch {epoch} ... acc: {val acc}'"


def _literal(text: str) -> str:
    # `acc:` is no end of `val_acc:`.
    begins = "(?<!_)" if text[:1].isalpha() else ""
    return begins + re.sub(r"(?:\\?\s)+", r"\\s+", re.escape(text))


def log_rows(path: Path, patterns: list[LinePattern]) -> list[Row]:
    """Return a row for each line that a pattern matches; epoch, run and seed hold until the next one is named.

    Raises NotImportable if no line matches, or the file is no text.
    """
    data = read_bytes(path)
    lines = [with_whole_counts(line) for line in data.decode("utf-8", "replace").split("\n")]
    found = list(_pattern_rows(lines, patterns))
    heads = [head for head, _ in found]
    # `evaluate: dev` and `evaluate: test` stand above lines of one form.
    are_told = len({*heads} - {""}) > 1 and 2 * heads.count("") < len(heads)
    rows = [{_called(name, head if are_told else ""): word for name, word in row.items()} for head, row in found]
    if not rows:
        # Only here: a crash leaves stray zero bytes in logs that are read all the same.
        check_text(path, data)
        sample = next((line for line in lines if line.strip()), "nothing")
        raise NotImportable(f"no line of {path} matches --pattern", hint=f"its first line is: {sample[:80]}")
    return rows


def _called(name: str, head: str) -> str:
    return name if name in RUN_FIELDS or is_counter(name) or split_of(name) else f"{head} {name}".strip()


def _pattern_rows(lines: list[str], patterns: list[LinePattern]) -> Iterator[tuple[str, Row]]:
    """Yield a row for each matching line, with the part of the data that the lines since the one before last name."""
    held: Row = {}
    head = ""
    for line in lines:
        # Of a line that a progress bar redraws, every drawing is looked at and the last one that matches counts.
        parts = line.split("\r")[::-1]
        rows = [row for each in patterns if (row := next(filter(None, map(each.match, parts)), {}))]
        for row in rows:
            if any(name in row for name in RUN_FIELDS):
                held = {}
            held.update({name: word for name, word in row.items() if name in RUN_FIELDS or is_counter(name)})
            values = {**held, **row}
            if values.keys() - held.keys():
                yield head, values
        head = "" if rows else next(filter(split_of, _WORD.findall(line)[::-1]), head)


#: Words of paths, ``train.log``, name no part of the data.
_WORD = re.compile(r"(?<![\w./\\-])[A-Za-z]+(?![\w./\\-])")


#: A count with commas, ``iter: 121,400``.
_THOUSANDS = re.compile(r"(?<![A-Za-z_])(?P<name>[A-Za-z_]+)[^\w\[({]{1,9}\d{1,3}(?:,\d{3})+(?![\d.]|,\s?\d)")


def with_whole_counts(line: str) -> str:
    """Return a line whose counts have no commas: ``iter: 121400``."""
    return _THOUSANDS.sub(lambda match: match[0].replace(",", "") if is_counter(match["name"]) else match[0], line)
