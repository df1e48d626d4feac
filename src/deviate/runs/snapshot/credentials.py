"""Files that hold credentials: runs share them by a link, and no copy or archive has them.

A name tells (``.netrc``, ``id_rsa``, ``.aws/credentials``), or the content: a private key, or a key of a known service.
Code with a key in it is the exception: a training starts it, so that runs have their copy; an archive has it with stars
in place of the key.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from deviate.core.secrets import KEYS, is_secret_variable

#: Folders in which tools keep credentials.
_FOLDERS = frozenset(
    {
        ".aws",
        ".azure",
        ".gcloud",
        "gcloud",
        ".ssh",
        ".gnupg",
        ".kube",
        ".docker",
        ".kaggle",
        ".oci",
        ".databricks",
        ".huggingface",
        ".snowflake",
        ".ngc",
        ".cloudflared",
        ".secrets",
        "secrets",
    }
)

#: Names of files that are made for nothing else, in lower case.
_NAMES = frozenset(
    {
        ".netrc", "_netrc", ".pypirc", ".npmrc", ".yarnrc.yml", ".git-credentials", ".pgpass", ".my.cnf",
        ".mylogin.cnf", ".htpasswd", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".passwd-s3fs",
        "kaggle.json", "kubeconfig", "comet.config", ".comet.config", ".neptune_token", ".vault-token", "rclone.conf",
        "terraform.tfvars", "application_default_credentials.json", "access_tokens.db", "token.pickle", "token.json",
        "pip.conf", ".wandb_key", "token", ".token", "token.txt", "auth.json", ".databrickscfg", ".modal.toml",
        ".cdsapirc", ".ecmwfapirc", ".authinfo", ".p4tickets", ".terraformrc", ".sentryclirc", ".condarc", "credstore",
        "clearml.conf", ".clearml.conf", "config.local",
    }
)  # fmt: skip

#: Keys of SSH by any name, key stores, ``.env`` and its like but for its templates; names that say it.
#: Compiled at first use by `re`.
_PATTERN = (
    r"\.env(rc|\.(?!example|sample|template|dist|defaults?$).+)?|(?!example|sample|template|default).+\.env"
    r"|id_(rsa|dsa|ecdsa|ed25519)\w*|.+\.(pem|key|p12|pfx|jks|keystore|keytab|ppk|kdbx|gpg|ovpn|token)"
    r"|(.*[-_.])?(secrets?|credentials?|creds|api[-_]?keys?|access[-_]?keys?|service[-_]?accounts?|client[-_]?secrets?"
    r"|kubeconfig|oauth|(auth|oauth|access|api|hf|wandb|github|openai|hub|kaggle|zenodo|gitlab|slack)[-_]?tokens?"
    r"|passwords?|(hf|wandb|openai|hub|kaggle|gcp|firebase)[-_]?keys?|firebase-adminsdk)([-_.][\w.-]+)?"
    r"(\.(json|ya?ml|toml|ini|cfg|conf|txt|env|py|sh|csv|properties|xml|db))?"
)

#: Code, whose names speak of what it does; but a module called ``secrets`` holds what it says.
_CODE = frozenset(
    {".py", ".pyi", ".pyx", ".pxd", ".sh", ".bash", ".r", ".jl", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp"}
)
_CODE_NAMES = re.compile(r"(my_|local_|_)?(secrets?|credentials?|creds|api_?keys?|passwords?)(_local)?\.(py|sh)")

#: What is in a file that says that it is one, whatever its name.
_MARKS = (
    b"PRIVATE KEY-----", b"PRIVATE KEY BLOCK-----", b"PuTTY-User-Key-File", b'"private_key"', b"aws_secret_access_key",
    b"_authToken=", b'"client_secret"', b'"refresh_token"', b'"auths"', b"client-key-data", b"AGE-SECRET-KEY-",
)  # fmt: skip


#: Bytes of settings that are looked through for names of secrets, and a line of them: ``name = value`` or with a colon.
_MOST_SETTINGS = 1 << 18
_SETTING = rb"""(?m)^[\s"'{,-]{0,20}([A-Za-z][\w.-]{0,60})["']?\s{0,9}[:=]\s{0,9}["']?[^\s"'$<{(\[*]{6}"""


def is_code(path: str) -> bool:
    """Tell whether a file is source that a training may start or import."""
    return PurePosixPath(path).suffix.lower() in _CODE


def is_credentials(path: str) -> bool:
    """Tell by its path in the project whether a file holds credentials.

    Examples
    --------
    >>> [is_credentials(name) for name in (".env", ".aws/credentials", "keys/id_rsa", ".env.example", "tokens.py")]
    [True, True, True, False, False]
    """
    pure = PurePosixPath(path.lower())
    if is_code(path):
        return _CODE_NAMES.fullmatch(pure.name) is not None
    if pure.suffix == ".pub":
        return False
    return (
        pure.name in _NAMES
        or not _FOLDERS.isdisjoint(pure.parts[:-1])
        or (pure.name == "config" and pure.parent.name == ".git")
        or re.fullmatch(_PATTERN, pure.name) is not None
    )


def shows_credentials(path: str, data: bytes) -> bool:
    """Tell by its content whether a file that is no code holds credentials: a private key, or a key of a service."""
    if is_code(path) or b"\0" in data[:1024]:
        return False
    return (
        any(mark in data for mark in _MARKS)
        or any(first.encode() in data and re.search(key.encode(), data) for first, key in KEYS)
        or _names_a_secret(path, data)
    )


def _names_a_secret(path: str, data: bytes) -> bool:
    """Tell whether a hidden file, which is some tool's settings and no data, gives a value to the name of a secret."""
    if not any(part.startswith(".") for part in PurePosixPath(path).parts) or len(data) > _MOST_SETTINGS:
        return False
    named = (match[1].decode() for match in re.finditer(_SETTING, data))
    return any(name.lower() == "key" or is_secret_variable(name) for name in named)
