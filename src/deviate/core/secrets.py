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

# What secrets look like wherever they stand: keys that well-known services issue, passwords in URLs, private keys.
#
# Each pattern begins with a literal or one of few characters, so that searching a log of many megabytes costs little.
# Of each the last group is the secret, or all of it where it has none.

#: What stands for a secret.
STARS = "***"

#: Names of secrets, as lower-case words joined by ``_``; of a longer name the end counts. Compiled at first
#: use by `re`.
NAME = (
    r"(.*_)?("
    r"[a-z]*(password|passwd|passphrase|passcode)|pwd|(db|ssh|smtp|mail|mysql|pg|ftp|http|proxy|root|admin|user)_?pass"
    r"|secrets?|credentials?|creds|authorization|bearer|auth|otp|jwt|cookie|webhook(_url)?|connection_string"
    r"|(gh|github|gitlab|azure|devops)_pat"
    r"|(api|access|private|secret|account|ssh|signing|encryption|license|licence|master|deploy|write|fernet|hmac|jwt"
    r"|sa|gcp|webhook)_?key(_id)?|secret_access_key|apikey"
    r"|(wandb|comet|neptune|openai|anthropic|hf|huggingface|kaggle|cohere|mistral|google|azure|aws|clearml|together"
    r"|groq|gemini|pinecone|deepseek|xai|swanlab)_key"
    r"|(auth|access|api|bearer|refresh|session|security|id|login|user|service|sas|hub|hf|huggingface|github|gh|gitlab"
    r"|git|slack|bot|telegram|neptune|wandb|comet|openai|kaggle|clearml|replicate|dagshub|mlflow|push_to_hub|private"
    r"|personal|deploy|client|app|job|oauth|vault|zenodo|modal|discord)_?token"
    r")|token|(use_)?auth_token"
)

#: In the query of a URL these are, too.
QUERY_NAMES = frozenset({"key", "sig", "signature", "code", "pass", "pw", "jwt", "x_amz_signature", "sas"})

#: How keys of services begin, and what follows: Hugging Face, OpenAI and its like, GitHub, GitLab, AWS, Google, Slack,
#: npm, PyPI, Docker, Stripe, SendGrid, Replicate, NVIDIA, Groq, LangSmith, DigitalOcean, Weights & Biases, Kaggle,
#: Databricks, Vault, Pinecone, Perplexity, xAI, Tavily, RunPod, Modal, Fireworks, Jina, Prefect, Grafana, Supabase,
#: PlanetScale, Doppler, Linear, Notion, Figma, Airtable, Atlassian, Postman, New Relic, Shopify, Square, Sentry,
#: Pulumi, Tailscale, Brevo, Mailgun, Twilio, age; JSON web tokens, and other JSON in base 64.
_KEYS = {
    "hf_": r"[A-Za-z0-9]{20,}", "sk-": r"(?:[A-Za-z0-9]{20,}|(?=[\w-]{0,200}\d)[\w-]{20,})",
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "r8_", "gsk_"), r"[A-Za-z0-9]{30,}"),
    **dict.fromkeys(("glpat-", "glptt-", "gldt-", "glrt-", "dckr_pat_", "xapp-"), r"[\w-]{20,}"),
    "github_pat_": r"\w{30,}",
    **dict.fromkeys(("AKIA", "ASIA"), r"[A-Z0-9]{16}"), "AIza": r"[\w-]{35}", "ya29.": r"[\w-]{20,}",
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), r"[\w-]{10,}"), "pypi-": r"[\w-]{50,}",
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{16,}"), "nvapi-": r"[\w-]{30,}",
    "SG.": r"[\w-]{16,}\.[\w-]{16,}", **dict.fromkeys(("lsv2_pt_", "lsv2_sk_"), r"\w{30,}"),
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{60,}"),
    "eyJ": r"(?:[\w-]{10,}\.[\w-]{10,}\.[\w-]*|[\w+/-]{60,}={0,2})",
    **dict.fromkeys(("KGAT_", "dapi", "SK", "key-"), r"[a-f0-9]{32}(?:-\d)?"),
    **dict.fromkeys(("GOCSPX-", "hvs.", "hvb.", "tvly-", "tskey-", "sq0csp-", "sq0atp-", "dckr_oat_"), r"[\w-]{20,}"),
    **dict.fromkeys(("pplx-", "xai-", "rpa_", "pnu_", "pnb_", "lin_api_", "ntn_", "api_org_"), r"[A-Za-z0-9]{30,}"),
    **dict.fromkeys(("pcsk_", "glsa_", "jina_", "figd_", "wandb_v1_", "ATATT3", "ATCTT3", "CFPAT-"), r"[\w=-]{30,}"),
    **dict.fromkeys(("pscale_tkn_", "pscale_pw_", "dp.pt.", "dp.st.", "sntrys_", "sntryu_"), r"[\w+/=.-]{30,}"),
    **dict.fromkeys(("shpat_", "shpss_", "shpca_", "shppa_", "sbp_", "pul-"), r"[a-f0-9]{32,40}"),
    **dict.fromkeys(("fw_", "ak-", "as-"), r"(?=[a-z0-9]{0,30}[A-Z])(?=[A-Za-z]{0,30}\d)[A-Za-z0-9]{22,24}"),
    "PMAK-": r"[a-f0-9]{24}-[a-f0-9]{34}",
    **dict.fromkeys(("NRAK-", "NRJS-"), r"[A-Za-z0-9]{19,}"),
    "xkeysib-": r"[a-f0-9]{60,}-\w{10,}", "AGE-SECRET-KEY-1": r"[A-Z0-9]{50,}", "pat": r"[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    "whsec_": r"[A-Za-z0-9+/=]{24,}", "1//0": r"[\w-]{40,}",
}  # fmt: skip

#: Each with how it begins.
KEYS = tuple(
    (first, rf"{re.escape(first)}(?<![\w-]{re.escape(first)}){rest}(?![\w-])") for first, rest in _KEYS.items()
)

#: The body of a private key: lines of one word, or of a header, also as they are written in JSON.
PRIVATE = (
    r"PRIVATE KEY(?: BLOCK)?-----"
    r"((?:(?:\\r)?(?:\\n|\r?\n)"
    r"(?:[\w-]{1,40}: [^\n\\]{1,100}|(?!-----)[\w+/=.-]{4,100}(?=\r|\n|\\|\Z)|(?=\\n|\r?\n)))+)"
)

#: ``scheme://user:password@`` and ``scheme://token@``; and ``user:password@host.name`` without a scheme.
IN_URL = r"://([^/\s@'\"]+)@"
IN_ADDRESS = r":(?<=[\w+-]:)([^\s@/:'\"=,]{3,100})@[\w-]+\.[\w.-]+"

#: ``Authorization: Token abc``, and ``Bearer abc`` alone.
BEARER = (
    r"[Bb](?i:earer|asic)(?<![\w-]bearer)(?<![\w-]basic)\s+([\w.~+/=-]{8,})",
    r"[Aa](?i:uthorization)['\"]?\s{0,3}[:=]\s{0,3}['\"]?[A-Za-z]+\s+([\w.~+/=-]{6,})",
)

#: Addresses that are secrets: webhooks of Slack, Discord and Teams, bots of Telegram, channels of conda.
IN_PATH = (
    (("hooks.slack.com",), r"hooks\.slack\.com/\w+/([\w/-]{20,})"),
    (("/webhooks/",), r"/webhooks/\d+/([\w-]{20,})"),
    (("webhook.office.com",), r"webhook\.office\.com/\w+/([\w@/-]{20,})"),
    ((":AA",), r"(?<!\d)\d{8,10}:(AA[\w-]{30,40})"),
    (("/t/",), r"/t/([a-z]{2}-[a-f0-9-]{30,50})(?=/)"),
)

#: Each pattern needs one of the texts beside it to find anything; looking for the texts first is much quicker.
SHAPES = (
    *(((first,), pattern) for first, pattern in KEYS),
    (("PRIVATE KEY",), PRIVATE),
    (("://",), IN_URL),
    (("@",), IN_ADDRESS),
    *IN_PATH,
    (("earer", "EARER", "asic", "ASIC"), BEARER[0]),
    (("uthoriz", "UTHORIZ"), BEARER[1]),
)

#: ``?token=abc``, ``&api_key=abc``: a name and a value of the query of a URL.
QUERY = r"[?&;]([\w.-]{1,60})=([^&\s'\"#;)>]+)"

#: ``password=abc``, ``'api_key': 'abc'``: a plain name of a secret with a value that is no number, switch or reference.
#: `token` and `auth` alone may be of a text that is modelled.
_BEFORE = (
    r"[pPaAsShH](?i:(?<=p)assw(?:or)?d|(?<=p)assphrase|(?<=p)rivate[_-]?key|(?<=a)pi[_-]?key|(?<=a)ccess[_-]?key"
    r"|(?<=a)ccount[_-]?key|(?<=s)ecret[_-]?key|(?<=a)pi[_-]?token|(?<=a)uth[_-]?token|(?<=a)ccess[_-]?token"
    r"|(?<=h)ub[_-]?token|(?<=h)f[_-]?token|(?<=s)ession[_-]?token|(?<=s)ecurity[_-]?token"
    r"|(?<=p)rivate[_-]?token)"
    r"(?:\\?['\"])?\s{0,3}[=:]\s{0,3}"
)
NAMED = _BEFORE + (r"(?:\\?['\"])?(?![*$<{(\[]|(?i:none|null|true|false)\b|[-+\d.eE]+(?!\w))([^\s'\",;&)}\]\\]{3,})")
NAMED_QUOTED = _BEFORE + r"\\?['\"](?![*$<{])([^\s'\"\\]{3,})(?=\\?['\"])"

#: Likewise.
NAMED_MARKS = ("assw", "ASSW", "assphrase", "ASSPHRASE", "ey", "EY", "oken", "OKEN")


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


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Tell whether a value of that name is a secret: an option, a variable, or a key with dots.

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
