"""Secrets in commands, variables and messages: replaced by stars in all that is stored or printed, never in what runs.

A name decides (``--api-key``, ``DB_PASSWORD``, ``hub_token=``), or the shape of a value: a password in a URL, the keys
that well-known services issue. Names of settings that sound alike (``--pad-token``, ``--num-tokens``, ``--sort-key``)
are no secrets: a command with another one of these is another command.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from urllib.parse import quote, unquote

from deviate.replicate.environment.shapes import (
    NAME,
    NAMED,
    NAMED_MARKS,
    NAMED_QUOTED,
    QUERY,
    QUERY_NAMES,
    SHAPES,
    STARS,
)

#: A shorter text stands in too many places to be looked for in messages, unless it stands alone.
SHORTEST, SHORTEST_ALONE = 6, 3

#: Words that are typed for a secret, and are none.
_NO_SECRETS = frozenset({"true", "false", "none", "null", "yes", "no", "auto", "basic", "off", "required", "disabled"})

#: A name with its value inside a longer text, such as the words of ``bash -c``, or an object of JSON. In one word
#: ``a:b`` may be a machine and a port.
_VALUE = r"""("[^"]*"|'[^']*'|(?!-)[^\s;&|'",)}\]]+)"""
_OPTION = rf"(?<![\w.-])(--?[A-Za-z][\w.-]*)(=|\s+){_VALUE}"
_ASSIGNED = rf"(?<![\w.-])([A-Za-z][\w.-]*)(=|:\s?|['\"]\s?:\s?){_VALUE}"
_ASSIGNED_IN_WORD = rf"(?<![\w.-])([A-Za-z][\w.-]*)(=|['\"]\s?:\s?){_VALUE}"

#: Stand after ``Authorization:``, before the secret.
_SCHEMES = frozenset({"bearer", "basic", "token", "digest", "apikey"})

#: Programs, commands and options after which ``-p``, ``-k`` and ``--key`` are followed by a secret.
_LOGIN = re.compile(
    r"(?i)(.*[-_.])?(log-?in|auth(enticate|entication|orize|orization)?|sshpass|passw(or)?d|credentials?|secrets?"
    r"|mysql\w*|mariadb\w*|user(name)?)"
)
_AFTER_LOGIN = frozenset({"-p", "-P", "-k", "-t", "--key", "--pass", "--pw", "--pin"})

#: ``-u user:password``, of curl.
_USER = frozenset({"-u", "--user", "--proxy-user"})


def mask_words(command: Sequence[str]) -> list[str]:
    """Return the words of a command with stars in place of secrets.

    Examples
    --------
    >>> mask_words(["python", "a.py", "--api-key", "abc", "--lr=0.1", "hub.token=abc"])
    ['python', 'a.py', '--api-key', '***', '--lr=0.1', 'hub.token=***']
    """
    masked: list[str] = []
    expected: Callable[[str], str] | None = None
    logs_in = False
    for word in command:
        if expected is not None and not word.startswith("--"):
            masked.append(expected(word))
            expected = None
            continue
        expected = _expected(word, logs_in=logs_in)
        masked.append(word if expected else _glued(word) if logs_in else _mask_word(word))
        logs_in = logs_in or _LOGIN.fullmatch(PurePath(word).name.lstrip("-")) is not None
    return masked


def _expected(word: str, *, logs_in: bool) -> Callable[[str], str] | None:
    """Return what hides the word after an option; None where that is no secret."""
    if not word.startswith("-") or "=" in word:
        return None
    if is_secret(word) or (logs_in and word in _AFTER_LOGIN):
        return _starred if is_secret(word) else _starred_text
    return _after_colon if word in _USER else None


def _starred(word: str) -> str:
    return STARS


def _starred_text(word: str) -> str:
    """Hide a word unless it is a short number, such as a port."""
    return word if re.fullmatch(r"[-+]?[\d.]{1,5}", word) else STARS


def _after_colon(word: str) -> str:
    user, colon, password = word.partition(":")
    return f"{user}:{STARS}" if colon and password and "://" not in word else _mask_word(word)


def _glued(word: str) -> str:
    """Hide ``-pPASSWORD``, as mysql has it."""
    return f"-p{STARS}" if re.fullmatch(r"-p(?!\d{1,5}$)\w\S{2,}", word) and "=" not in word else _mask_word(word)


def _mask_word(word: str) -> str:
    name, sign, value = word.partition("=")
    if sign and value and not re.search(r"[\s?&]", name):
        if is_secret(name) or _is_set(name):
            return f"{name}={STARS}"
        # The words of ``env``, or of an option that takes such: ``--env=NAME=VALUE``.
        if name.startswith("-") and re.match(r"\w+=", value):
            return f"{name}={_mask_word(value)}"
    return mask_text(word)


def _is_set(name: str) -> bool:
    """Tell whether a name before ``=`` is that of a variable that holds a secret."""
    return re.fullmatch(r"[A-Z][A-Z0-9_]*", name) is not None and is_secret_variable(name)


def mask_text(text: str) -> str:
    """Return a text with stars in place of secrets that are in it by name or by shape.

    Examples
    --------
    >>> mask_text("cd x && python a.py --password abc git://me:abc@host/x?token=abc")
    'cd x && python a.py --password *** git://***@host/x?token=***'
    """
    return _masked_text(text, SHAPES)


def _masked_text(text: str, shapes: Sequence[tuple[Sequence[str], str]]) -> str:
    masked = re.sub(QUERY, _masked_query, text)
    # Patterns are compiled where they are needed: together they take longer to compile than a small command takes.
    for marks, shape in shapes:
        masked = re.sub(shape, _masked_group, masked) if any(mark in masked for mark in marks) else masked
    if not re.search(r"\s", masked):
        return re.sub(_ASSIGNED_IN_WORD, _masked_pair, masked)
    return re.sub(_ASSIGNED, _masked_pair, re.sub(_OPTION, _masked_pair, masked))


def _masked_query(match: re.Match[str]) -> str:
    return _masked_group(match) if _is_query_secret(match[1]) else match[0]


def _masked_group(match: re.Match[str]) -> str:
    """Put stars in place of what the last group of a match holds."""
    start, end = (place - match.start() for place in match.span(match.re.groups))
    return match[0][:start] + STARS + match[0][end:]


def _is_query_secret(name: str) -> bool:
    return is_secret(name) or re.sub(r"[-.]", "_", name).lower() in QUERY_NAMES


def _masked_pair(match: re.Match[str]) -> str:
    name, sign, value = match.groups()
    if not value or value.lower() in _SCHEMES or not (is_secret(name) or _is_set(name)):
        return match[0]
    return f"{name}{sign}{STARS}"


def is_secret(name: str) -> bool:
    """Tell whether a value of that name is a secret: an option, a variable, or a key with dots.

    Examples
    --------
    >>> is_secret("--hub-token"), is_secret("WANDB_API_KEY"), is_secret("--pad-token"), is_secret("PWD")
    (True, True, False, False)
    """
    if name in ("PWD", "OLDPWD"):
        return False
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("-+"))
    words = re.sub(r"[-.:/]+", "_", spread).lower()
    return any(re.fullmatch(NAME, each) for each in (words, re.split(r"[.:/]", spread.lower())[-1]))


def is_secret_variable(name: str) -> bool:
    """Tell whether a variable of that name holds a secret; a token there is none of a vocabulary.

    Examples
    --------
    >>> is_secret_variable("MY_TOKEN"), is_secret_variable("TOKENIZERS_PARALLELISM")
    (True, False)
    """
    return is_secret(name) or name.upper().endswith(("_TOKEN", "_PASS", "_PAT", "_CREDS"))


def mask_variables(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return variables with stars in place of secrets, None where one was taken away."""
    return {
        name: value if value is None else STARS if is_secret_variable(name) else mask_text(value)
        for name, value in variables.items()
    }


def secrets_of(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the secrets that a command and its environment hold, the longest first."""
    typed = {
        found
        for word, masked in zip(command, mask_words(command), strict=True)
        if word != masked
        for found in _hidden(word, masked)
    }
    named = {
        found
        for name, value in environment.items()
        for found in ([value] if is_secret_variable(name) else _hidden_in(value))
        if len(found) >= SHORTEST
    }
    # As they stand in a URL, and as they are meant there.
    found = {form for each in typed | named for form in (each, quote(each, safe=""), unquote(each))}
    return sorted(filter(_can_be_sought, found), key=lambda each: (-len(each), each))


@lru_cache(maxsize=1024)
def _hidden_in(value: str) -> tuple[str, ...]:
    """Return the secrets in the value of a variable: a report asks for those of one environment for each run."""
    return tuple(_hidden(value, mask_text(value)))


def _can_be_sought(secret: str) -> bool:
    """Tell whether a secret is looked for: a short one that is a number, or a common word, stands everywhere."""
    if len(secret) >= SHORTEST:
        return True
    return len(secret) >= SHORTEST_ALONE and not secret.isdecimal() and secret.lower() not in _NO_SECRETS


def _hidden(word: str, masked: str) -> Iterator[str]:
    """Yield the parts of `word` that stars stand for in `masked`."""
    first, *parts = masked.split(STARS)
    start = len(first)
    for number, part in enumerate(parts, 1):
        end = len(word) - len(part) if number == len(parts) else word.find(part, start + 1)
        if word != masked and start < end:
            found = word[start:end]
            # In the words of a shell it may be quoted; before a password may stand a user.
            bare = found[1:-1] if found[0] in "'\"" and found[0] == found[-1] else found
            yield from (each for each in {bare, bare.partition(":")[2]} if each)
        start = end + len(part)


def _sought(secrets: Sequence[str]) -> list[str]:
    """Return patterns that find each secret: a short one, or one of digits, where it stands alone."""
    return [
        rf"(?<![\d.]){re.escape(secret)}(?![\d.])"
        if secret.isdecimal()
        else rf"(?<![\w.-]){re.escape(secret)}(?![\w-])"
        if len(secret) < SHORTEST
        else re.escape(secret)
        for secret in secrets
    ]


def mask_lines(lines: Iterable[str], secrets: Sequence[str]) -> list[str]:
    """Return lines of a program's output without `secrets`, and without others that are known by name or shape."""
    patterns = list(map(re.compile, _sought(secrets)))
    lines = list(lines)
    together = "\n".join(lines)
    shapes = [(marks, shape) for marks, shape in SHAPES if any(mark in together for mark in marks)]
    masked = []
    for line in lines:
        for pattern in patterns:
            line = pattern.sub(STARS, line)
        masked.append(_masked_text(line, shapes))
    return masked


def star_text(data: bytes, *, is_code: bool) -> bytes:
    """Return the bytes of a text of the same length with stars over secrets that are known by shape, or by name.

    In code a secret stands in quotes: other words after its name are an expression. What has a zero in it is no text,
    and stays.
    """
    if b"\0" in data[:1024]:
        return data
    content = bytearray(data)
    _star(content, (*SHAPES, (NAMED_MARKS, NAMED_QUOTED if is_code else NAMED)))
    return bytes(content)


def star_file(path: Path, secrets: Sequence[str]) -> None:
    """Write stars over `secrets`, and over others that are known by shape, in a file that keeps its length.

    Records say where the output stood when an iteration began, so nothing in a log may move. A secret of digits is
    starred where it stands alone, not within a longer number.
    """
    if not os.path.isfile(path) or not path.stat().st_size:
        return
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        _star(content, (*(([""], pattern) for pattern in _sought(secrets)), *SHAPES, (NAMED_MARKS, NAMED)))


def _star(content: bytearray | mmap.mmap, patterns: Iterable[tuple[Sequence[str], str]]) -> None:
    """Write stars over what the last group of each pattern finds, or all of it where it has none."""
    for marks, pattern in patterns:
        if any(content.find(mark.encode()) >= 0 for mark in marks):
            compiled = re.compile(pattern.encode("utf-8", "surrogateescape"))
            _write_stars(content, [match.span(compiled.groups) for match in compiled.finditer(content)])
    if content.find(b"=") >= 0:
        queries = re.finditer(QUERY.encode(), content)
        _write_stars(content, [match.span(2) for match in queries if _is_query_secret(match[1].decode())])


def _write_stars(content: bytearray | mmap.mmap, spans: Iterable[tuple[int, int]]) -> None:
    for start, end in spans:
        content[start:end] = b"*" * (end - start)
