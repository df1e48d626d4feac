"""Look through a project and decide what becomes of each file: copied, linked, or left out with a reason.

Also what git knows of it: the commit that was trained, what was changed since, and what is in no commit.

Files that hold credentials are shared by a link, and no copy or archive has them. A name tells (``.netrc``, ``id_rsa``,
``.aws/credentials``), or the content: a private key, or a key of a known service. Code with a key in it is the
exception: a training starts it, so that runs have their copy; an archive has it with stars in place of the key.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from deviate.core.paths import real_path
from deviate.core.secrets import KEYS, is_secret_variable
from deviate.store.snapshot_rules import (
    SnapshotRules,
    file_reason,
    folder_reason,
    is_checkpoint_folder,
    is_checkpoint_like,
    matches,
    may_hold,
)

#: Seconds git may take; on a huge tree the state stays unknown rather than the training waiting.
PATIENCE = 20.0

#: The same for listing files: without the list a tracked checkpoint would be left out.
LISTING_PATIENCE = 60.0


def describe_commit(project: Path) -> str | None:
    """Return the project's commit with what differs from it; None where git does not know it.

    ``1f0c2d9…`` or ``1f0c2d9… + 2 changed files + 1 untracked``. A folder without a tracked file counts as one;
    what git ignores does not count.
    """
    commit = _git(project, "rev-parse", "HEAD")
    if commit is None:
        return None
    status = _git(project, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    if status is None:
        return f"{commit} + changes not known"
    lines = status.splitlines()
    untracked = sum(line.startswith("??") for line in lines)
    changed = len(lines) - untracked
    parts = [f"{changed} changed file{'' if changed == 1 else 's'}"] if changed else []
    return " + ".join([commit, *parts, *([f"{untracked} untracked"] if untracked else [])])


def tracked_files(project: Path) -> frozenset[str]:
    """Return the files below `project` that git tracks; none where git does not know the project."""
    listed = _output(project, "ls-files", "-z", patience=LISTING_PATIENCE)
    return frozenset(os.fsdecode(listed or b"").split("\0")) - {""}


def lead_to_repository(project: Path, copy: Path) -> None:
    """Have git take `copy` for the working tree of the repository whose top is `project`; of no other.

    A program that notes its commit and ``git diff`` finds what it would find in the project, and one that checks a file
    out writes it into the copy.
    """
    place = project / ".git"
    try:
        if os.path.isfile(place):
            place = project / place.read_text("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
        if os.path.isdir(place):
            (copy / ".git").write_text(f"gitdir: {place}\n", "utf-8", "surrogateescape")
    except OSError:
        # Git will say that there is none.
        return


def _git(project: Path, *words: str) -> str | None:
    output = _output(project, *words, patience=PATIENCE)
    return None if output is None else output.decode(errors="replace").strip()


def _output(project: Path, *words: str, patience: float) -> bytes | None:
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(project), *words], capture_output=True, env=quiet, timeout=patience, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


#: Larger files are linked: source and configuration are smaller, data sets are not.
COPY_LIMIT = 1 << 20

#: A folder with more files is linked whole: copying it for every run would cost more than the training.
FILES_LIMIT = 10_000

#: Files beside the weights of a pretrained model in the format of Hugging Face, and of a training that goes on.
_PREPROCESSORS = {"tokenizer_config.json", "tokenizer.json", "vocab.txt", "vocab.json", "preprocessor_config.json"}
_TRAININGS = {"training_args.bin", "trainer_state.json", "optimizer.pt", "scheduler.pt"}

CHECKPOINT = "looks like a checkpoint of a former training"
UNREADABLE = "cannot be read"
OWN = "written by deviate"
SPECIAL = "no regular file"
NO_TEXT = "its name is no text in UTF-8"
CREDENTIALS = "holds credentials"
EXCLUDED = "excluded by you"
OWN_OUTPUT = "output of this command"

Kind = Literal["folder", "copy", "link", "symlink", "environment", "left out"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one file or folder of the project."""

    #: Relative to the project, with forward slashes.
    path: str
    kind: Kind
    #: Why it is left out or linked.
    reason: str = ""
    #: For a symbolic link: what it points to in the copy.
    target: str = ""
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True)
class _Looking:
    project: Path
    rules: SnapshotRules
    tracked: frozenset[str]
    #: Device and inode of the files that this process writes to.
    outputs: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def left_out(self, path: str, *, folder: bool, inherited: str) -> str:
        """Return why `path` is left out; empty where it is kept."""
        if matches(path, self.rules.exclude):
            return EXCLUDED
        if matches(path, self.rules.include) and folder_reason(path) != "workspace of Deviate":
            return ""
        return inherited or self._by_rule(path, folder=folder)

    def is_own_output(self, entry: os.DirEntry[str]) -> bool:
        """Tell whether our standard output or standard error goes to a file."""
        if not any(inode == entry.inode() for _, inode in self.outputs):
            return False
        status = entry.stat(follow_symlinks=False)
        return (status.st_dev, status.st_ino) in self.outputs

    def _by_rule(self, path: str, *, folder: bool) -> str:
        reason = folder_reason(path) if folder else file_reason(path)
        saved = is_checkpoint_folder(path) if folder else is_checkpoint_like(path)
        if not saved or self._is_tracked(path, folder=folder):
            return reason or ""
        return reason or ("" if not folder and self._is_pretrained(path) else CHECKPOINT)

    def _is_pretrained(self, path: str) -> bool:
        """Tell whether weights lie in the folder of a pretrained model, with its settings and no training's state."""
        try:
            names = set(os.listdir((self.project / path).parent))
        except OSError:
            return False
        return "config.json" in names and bool(names & _PREPROCESSORS) and not names & _TRAININGS

    def _is_tracked(self, path: str, *, folder: bool) -> bool:
        return any(each.startswith(f"{path}/") for each in self.tracked) if folder else path in self.tracked


def own_outputs() -> frozenset[tuple[int, int]]:
    """Return device and inode of the regular files that are our standard output and standard error."""
    outputs = set()
    for descriptor in (1, 2):
        with suppress(OSError):
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                outputs.add((status.st_dev, status.st_ino))
    return frozenset(outputs)


def survey(project: Path, rules: SnapshotRules | None = None, tracked: frozenset[str] | None = None) -> list[Item]:
    """Return what becomes of each file and folder of `project`, folders before what is in them.

    `tracked` are the files that git tracks, where the caller knows. Nothing is written, and no file is read beyond its
    attributes.
    """
    known = tracked_files(project) if tracked is None else tracked
    looking = _Looking(project, rules or SnapshotRules(), known, own_outputs())
    return [item for entry in _entries(project) for item in _items(looking, entry, "", "")]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _items(looking: _Looking, entry: os.DirEntry[str], parent: str, inherited: str) -> Iterator[Item]:
    path = f"{parent}{entry.name}"
    named = f"{path}{os.readlink(entry.path) if entry.is_symlink() else ''}"
    if not named.isprintable() and named != named.encode("utf-8", "replace").decode():
        # No file of ours can hold it.
        yield Item(path=path.encode("utf-8", "backslashreplace").decode(), kind="left out", reason=NO_TEXT)
        return
    folder = entry.is_dir(follow_symlinks=False)
    reason = looking.left_out(path, folder=folder or os.path.isdir(entry.path), inherited=inherited)
    if looking.is_own_output(entry):
        yield Item(path=path, kind="left out", reason=OWN_OUTPUT)
    elif reason and not (folder and may_hold(path, looking.rules.include) and reason != EXCLUDED):
        yield Item(path=path, kind="left out", reason=reason)
    elif matches(path, looking.rules.link) and os.path.exists(entry.path):
        yield _linked(path, entry, "linked as you asked")
    elif entry.is_symlink():
        yield Item(path=path, kind="symlink", target=_target(looking.project, entry))
    elif folder:
        yield from _folder(looking, entry, path, reason)
    else:
        yield _file(path, entry)


def _folder(looking: _Looking, entry: os.DirEntry[str], path: str, reason: str) -> Iterator[Item]:
    if is_environment(Path(entry.path)):
        yield Item(path=path, kind="environment", reason="virtual environment", target=entry.path)
        return
    try:
        entries = _entries(Path(entry.path))
    except OSError:
        yield Item(path=path, kind="left out", reason=UNREADABLE)
        return
    yield from _small_or_linked(looking, entry, path, entries, reason)


def _small_or_linked(
    looking: _Looking, entry: os.DirEntry[str], path: str, entries: list[os.DirEntry[str]], reason: str
) -> Iterator[Item]:
    """Yield the folder and what is in it, or one link where there are too many files.

    A folder below that is linked itself counts as one file, so the lowest folder that holds the many is linked, and
    looking stops as soon as there are too many: a million images cost no more than ten thousand.
    """
    inside: list[Item] = []
    files = 0
    for each in entries:
        for item in _items(looking, each, f"{path}/", reason):
            inside.append(item)
            files += item.kind in ("copy", "link")
        if files > FILES_LIMIT:
            yield _linked(path, entry, f"more than {FILES_LIMIT:,} files")
            return
    yield Item(path=path, kind="folder")
    yield from inside


def is_environment(folder: Path) -> bool:
    """Tell whether a folder is a virtual environment, of venv, virtualenv or conda."""
    return os.path.isfile(folder / "pyvenv.cfg") or os.path.isdir(folder / "conda-meta")


def _file(path: str, entry: os.DirEntry[str]) -> Item:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return Item(path=path, kind="left out", reason=SPECIAL)
    if not os.access(entry.path, os.R_OK):
        return Item(path=path, kind="left out", reason=UNREADABLE)
    if is_credentials(path):
        return _linked(path, entry, CREDENTIALS)
    if status.st_size > COPY_LIMIT:
        return _linked(path, entry, "larger than 1 MiB")
    return Item(path=path, kind="copy", size=status.st_size, mtime_ns=status.st_mtime_ns)


def _linked(path: str, entry: os.DirEntry[str], reason: str) -> Item:
    status = entry.stat()
    target = real_path(entry.path) if entry.is_symlink() else entry.path
    # A folder's size and time change with every lock or cache file that a training leaves in it: they say nothing.
    known = (0, 0) if entry.is_dir() else (status.st_size, status.st_mtime_ns)
    return Item(path=path, kind="link", reason=reason, target=target, size=known[0], mtime_ns=known[1])


def _target(project: Path, entry: os.DirEntry[str]) -> str:
    """Return what a symbolic link points to in a copy: inside the project relative, outside absolute."""
    text = os.readlink(entry.path)
    folder = os.path.dirname(entry.path)
    absolute = os.path.normpath(os.path.join(folder, text))
    if not Path(absolute).is_relative_to(project):
        return absolute
    return os.path.relpath(absolute, folder) if os.path.isabs(text) else text


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
