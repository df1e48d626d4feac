"""Secrets in commands, variables and messages: replaced by stars in all that is stored or printed, never in what runs.

A name decides (``--api-key``, ``DB_PASSWORD``, ``hub_token=``), or the shape of a value: a password in a URL, the keys
that well-known services issue. Names of settings that sound alike (``--pad-token``, ``--num-tokens``, ``--sort-key``)
are no secrets: a command with another one of these is another command.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

#: What stands for a secret.
STARS = "***"

#: A shorter text stands in too many places to be looked for in messages.
SHORTEST = 6

#: Names of secrets, as lower-case words joined by ``_``; of a longer name the end counts.
_NAME = re.compile(
    r"(.*_)?("
    r"password|passwd|passphrase|secrets?|credentials?|authorization|bearer|auth"
    r"|(api|access|private|secret|account|ssh|signing|encryption|license|licence)_?key(_id)?|secret_access_key|apikey"
    r"|(wandb|comet|neptune|openai|anthropic|hf|huggingface|kaggle|cohere|mistral|google|azure|aws|clearml)_key"
    r"|(auth|access|api|bearer|refresh|session|security|id|login|user|service|sas|hub|hf|huggingface|github|gh|gitlab"
    r"|git|slack|bot|telegram|neptune|wandb|comet|openai|kaggle|clearml|replicate|dagshub|mlflow|push_to_hub)_?token"
    r")|token|pwd|(use_)?auth_token"
)

#: ``scheme://user:password@`` and ``scheme://token@``.
_URL = re.compile(r"(?<=://)[^/\s@'\"]+(?=@)")

#: Keys by their shape: Hugging Face, OpenAI and its like, GitHub, GitLab, AWS, Google, Slack, JSON web tokens.
_SHAPE = re.compile(
    r"(?<![\w-])(hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|xox[abprs]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)(?![\w-])"
)

#: ``Authorization: Bearer abc``.
_BEARER = re.compile(r"(?i)(\b(?:bearer|basic)\s+)([\w.~+/=-]{8,})")

#: A name with its value inside a longer text, such as the words of ``bash -c``.
_VALUE = r"""("[^"]*"|'[^']*'|(?!-)[^\s;&|'",)}\]]+)"""
_OPTION = re.compile(rf"(?<![\w.-])(--?[A-Za-z][\w.-]*)(=|\s+){_VALUE}")
_ASSIGNED = re.compile(rf"(?<![\w.-])([A-Za-z][\w.-]*)(=|:\s?){_VALUE}")


def mask_words(command: Sequence[str]) -> list[str]:
    """Return the words of a command with stars in place of secrets.

    Examples
    --------
    >>> mask_words(["python", "a.py", "--api-key", "abc", "--lr=0.1", "hub.token=abc"])
    ['python', 'a.py', '--api-key', '***', '--lr=0.1', 'hub.token=***']
    """
    masked = []
    expected = False
    for word in command:
        if expected and not word.startswith("--"):
            masked.append(STARS)
            expected = False
            continue
        expected = word.startswith("-") and "=" not in word and is_secret(word)
        masked.append(word if expected else _mask_word(word))
    return masked


def _mask_word(word: str) -> str:
    name, sign, value = word.partition("=")
    if sign and value and not re.search(r"\s", name) and is_secret(name):
        return f"{name}={STARS}"
    return mask_text(word)


def mask_text(text: str) -> str:
    """Return a text with stars in place of secrets that are in it by name or by shape.

    Examples
    --------
    >>> mask_text("cd x && python a.py --password abc git://me:abc@host/x")
    'cd x && python a.py --password *** git://***@host/x'
    """
    masked = _SHAPE.sub(STARS, _URL.sub(STARS, _BEARER.sub(rf"\g<1>{STARS}", text)))
    return _ASSIGNED.sub(_masked_pair, _OPTION.sub(_masked_pair, masked)) if re.search(r"\s", text) else masked


def _masked_pair(match: re.Match[str]) -> str:
    name, sign, value = match.groups()
    return f"{name}{sign}{STARS}" if value and is_secret(name) else match[0]


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
    return _NAME.fullmatch(words) is not None or _NAME.fullmatch(re.split(r"[.:/]", spread.lower())[-1]) is not None


def is_secret_variable(name: str) -> bool:
    """Tell whether a variable of that name holds a secret; a token there is none of a vocabulary.

    Examples
    --------
    >>> is_secret_variable("MY_TOKEN"), is_secret_variable("TOKENIZERS_PARALLELISM")
    (True, False)
    """
    return is_secret(name) or name.upper().endswith("_TOKEN")


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
    named = {value for name, value in environment.items() if is_secret_variable(name)}
    return sorted((each for each in typed | named if len(each) >= SHORTEST), key=lambda each: (-len(each), each))


def _hidden(word: str, masked: str) -> Iterable[str]:
    """Yield the parts of `word` that stars stand for in `masked`."""
    pattern = "(.+?)".join(re.escape(part) for part in masked.split(STARS))
    match = re.fullmatch(pattern, word, re.DOTALL)
    yield from match.groups() if match else ()
    yield from (part for found in (match.groups() if match else ()) for part in found.split(":") if ":" in found)


def mask_lines(lines: Iterable[str], secrets: Sequence[str]) -> list[str]:
    """Return lines of a program's output without `secrets`, and without others that are known by name or shape."""
    masked = []
    for line in lines:
        for secret in secrets:
            line = line.replace(secret, STARS)
        masked.append(mask_text(line))
    return masked


#: The same shapes in the bytes of a log.
_SHAPES_IN_BYTES = tuple(re.compile(shape.pattern.encode()) for shape in (_SHAPE, _URL))


def _in_bytes(secret: str) -> re.Pattern[bytes]:
    literal = re.escape(secret.encode())
    return re.compile(rb"(?<![\d.])" + literal + rb"(?![\d.])" if secret.isdecimal() else literal)


def star_file(path: Path, secrets: Sequence[str]) -> None:
    """Write stars over `secrets`, and over others that are known by shape, in a file that keeps its length.

    Records say where the output stood when an iteration began, so nothing in a log may move. A secret of digits is
    starred where it stands alone, not within a longer number.
    """
    if not os.path.isfile(path) or not path.stat().st_size:
        return
    patterns = [*map(_in_bytes, secrets), *_SHAPES_IN_BYTES]
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        for pattern in patterns:
            for start, end in [match.span() for match in pattern.finditer(content)]:
                content[start:end] = b"*" * (end - start)
