"""Find the entry scripts from the command a user types, through programs that start programs.

The target of a command: the project, the working directory, and the entry script.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from deviate.core.errors import BadOption, CommandNotFound, EntryNotFound, EntryNotPython, NoScript
from deviate.core.paths import globbed, real_path
from deviate.core.shell_words import typed_line
from deviate.source.files import console_scripts, made_commands, simple_commands

# Programs that start other programs, and which of their options take the next word.

#: Names of interpreters and of shells.
PYTHON = re.compile(r"^(pypy|python)[\d.]*(w|t|d)?(\.exe)?$")
SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
#: Programs that print with ``--just-print`` what they would run.
MAKES = {"make", "gmake"}
#: Options of the interpreter that take the next word.
PYTHON_VALUES = {"-W", "-X", "--check-hash-based-pycs"}
#: Programs that start another command after their own options: options that take the next word.
PREFIXES: dict[str, set[str]] = {
    "env": {"-u", "--unset", "-C", "--chdir"},
    "time": {"-o", "-f"},
    "nice": {"-n", "--adjustment"},
    "ionice": {"-c", "-n", "--class", "--classdata"},
    "nohup": set(),
    "setsid": set(),
    "prlimit": set(),
    "stdbuf": {"-i", "-o", "-e"},
    "timeout": {"-s", "-k", "--signal", "--kill-after"},
    "taskset": {"-c"},
    "numactl": set(),
    "srun": {"-n", "-N", "-p", "-c", "-t", "-J", "--ntasks", "--nodes", "--partition", "--gres"},
    "xvfb-run": {"-s", "-n", "-e", "-f", "-p", "-w"},
    "mpirun": {"-n", "-np", "-H", "--host", "--hostfile", "-x", "--bind-to", "--map-by"},
    "mpiexec": {"-n", "-np", "-host", "-hosts", "-f"},
    "exec": {"-a"},
    "catchsegv": set(),
    "sudo": {"-u", "-g"},
}
#: The same with a sub-command between (``uv run``).
RUNNERS: dict[str, set[str]] = {
    "uv": {"--with", "--python", "-p", "--extra", "--group", "--project", "--directory", "--env-file", "--index"},
    "poetry": {"-C", "-P", "--directory", "--project"},
    "pipenv": set(),
    "pdm": {"-p", "--project"},
    "rye": set(),
    "hatch": {"-e", "--env", "-p"},
    "conda": {"-n", "--name", "-p", "--prefix", "--cwd"},
    "mamba": {"-n", "--name", "-p", "--prefix"},
    "micromamba": {"-n", "--name", "-p", "--prefix"},
    "pixi": {"-e", "--environment", "--manifest-path"},
    "ray": set(),
}
#: Programs, or modules run with -m, that start a script after their own options: options without a value.
LAUNCHERS: dict[str, set[str]] = {
    "torchrun": {"--standalone", "--no-python", "--no_python", "--run-path", "--run_path", "--use-env", "--use_env"},
    "accelerate": {"--multi_gpu", "--multi-gpu", "--cpu", "--tpu", "--use_fsdp", "--use_deepspeed", "--use_megatron_lm",
                   "--use_xpu", "--debug", "--quiet", "-q", "--same_network", "--no_python", "--no-python", "--ipex",
                   "--mps", "--main_training_function_", "--enable_cpu_affinity", "--use_fp8"},
    "deepspeed": {"--force_multi", "--enable_each_rank_log_", "--no_python", "--no_local_rank", "--no_ssh_check",
                  "--no_ssh", "--save_pid", "--bind_cores_to_rank"},
    "horovodrun": {"--verbose", "--disable-cache", "--gloo", "--mpi", "--js", "-cb", "--check-build", "--autotune",
                   "--timeline-mark-cycles", "--no-stall-check", "--tcp", "--elastic-timeout_"},
    "lightning": set(),
    "fabric": set(),
    "composer": {"--verbose", "-v", "-m_"},
    "colossalai": set(),
    "ipython": {"--no-banner", "--pylab_"},
    "coverage": {"--parallel-mode", "-p", "--append", "-a", "--branch"},
    "kernprof": {"-l", "-v", "-b"},
}  # fmt: skip
#: Modules run with -m that start a script.
MODULE_LAUNCHERS = {
    "torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "torch.distributed.elastic": "torchrun", "deepspeed.launcher.runner": "deepspeed", "coverage": "coverage",
    "accelerate": "accelerate", "cProfile": "kernprof", "kernprof": "kernprof", "pdb": "kernprof",
    "torch_xla.distributed.xla_dist": "torchrun", "torch.utils.bottleneck": "kernprof",
}  # fmt: skip
#: Words between a launcher and its options.
SUBCOMMANDS = {"launch", "run"}

#: Programs that trainings are started with.
KNOWN = ("python", "python3", *LAUNCHERS, *RUNNERS, *SHELLS, *MAKES, *PREFIXES)

#: Least likeness of two names, in [0, 1], that is taken for a slip: one letter, or two that changed places.
ALIKE = 0.7


def missing_hint(word: str, path: str | None = None) -> str:
    """Suggest what to type instead of `word`, which names no program in the folders of `path`, by default PATH."""
    near = difflib.get_close_matches(word, KNOWN, n=len(KNOWN), cutoff=ALIKE)
    program = next((name for name in near if shutil.which(name, path=path)), None)
    shell = "the words after -- are started without a shell; for shell syntax use: bash -c '...'"
    return f"did you mean {program}?" if program is not None else shell


#: Programs that may start Python.
_STARTING = {*LAUNCHERS, *RUNNERS, *SHELLS, *MAKES}

#: What to do where the command that trains does not show its script.
NAME_ENTRY = "name the script that trains, for example --set entry=train.py"


class Start(NamedTuple):
    """A Python script that a command starts."""

    script: Path
    #: The words that start it, of a command that starts several; empty where they differ from time to time.
    command: list[str]


def find_starts(command: Sequence[str], folder: Path, entry: str | None = None) -> list[Start]:
    """Find the Python scripts that a command starts in a folder, in their order, each once.

    What the setting ``entry`` names is right whatever the command is.

    Raises EntryNotFound when no script follows from the command, or it does not exist; `NoScript` where the command can
    be run all the same. Raises EntryNotPython when it is something else than Python source. Raises CommandNotFound when
    the program that should start it is not there.
    """
    if entry is not None:
        return [Start(_checked(folder / entry, entry), list(command))]
    if not command:
        raise EntryNotFound(
            "no command given: expected one such as python train.py",
            hint="type one, such as deviate run -- python train.py",
        )
    return _from_words(list(command), folder, 0)


def find_entry(command: Sequence[str], folder: Path, entry: str | None = None) -> Path:
    """Return the first script of `find_starts`."""
    return find_starts(command, folder, entry)[0].script


def is_script_of(words: Sequence[str], project: Path) -> bool:
    """Tell whether words are a script of a project, behind an interpreter that has no option but -u or -m."""
    if "\0" in "".join(words):
        return False
    root, program = project.resolve(), Path(*words[:1]).name
    is_python = PYTHON.match(program) is not None
    rest = list(words[1:] if is_python or program in SHELLS else words)
    if is_python and rest[:1] == ["-u"]:
        del rest[0]
    if is_python and rest[:1] == ["-m"]:
        return not MODULE_LAUNCHERS.keys() & rest[1:2] and find_entry(words, root).is_relative_to(root)
    path = root.joinpath(*rest[:1]).resolve()
    return os.path.isfile(path) and path.is_relative_to(root)


def _from_words(words: list[str], folder: Path, depth: int) -> list[Start]:
    command = typed_line(words)
    if not words or depth > 8:
        raise EntryNotFound(f"command {command!r}: expected a Python script in it, found none", hint=NAME_ENTRY)
    program = words[0].rpartition("/")[2]
    if re.match(r"^[A-Za-z_]\w*=", words[0]):
        return _from_words(words[1:], folder, depth + 1)
    if PYTHON.match(program):
        return [Start(_from_python(words[1:], folder, command), words)]
    if program in PREFIXES:
        return _from_words(_after_options(words[1:], PREFIXES[program], program), folder, depth + 1)
    if program in RUNNERS:
        return _from_runner(words[1:], program, folder, depth)
    if program in LAUNCHERS:
        return [Start(_from_launcher(words[1:], program, folder, command), words)]
    if program in SHELLS:
        return _from_shell(words[1:], folder, command, depth)
    if program in MAKES and shutil.which(words[0]) is not None:
        return _from_lines(made_commands(words, folder), folder, f"command {command!r}", depth)
    return _from_file(words, folder, command, depth)


def _after_options(words: list[str], with_value: set[str], program: str) -> list[str]:
    """Drop a prefix program's own options and assignments."""
    rest = list(words)
    while rest and (rest[0].startswith("-") or re.match(r"^[A-Za-z_]\w*=", rest[0])):
        option = rest.pop(0)
        if option == "--":
            break
        if option in with_value and rest:
            rest.pop(0)
    if program in {"timeout", "taskset"} and rest and not rest[0].startswith("-") and re.match(r"^[\d.x]", rest[0]):
        rest.pop(0)
    return rest


def _from_runner(words: list[str], program: str, folder: Path, depth: int) -> list[Start]:
    rest = _after_options(words, RUNNERS[program], program)
    if rest and rest[0] in {"run", "exec"}:
        rest = _after_options(rest[1:], RUNNERS[program], program)
    return _from_words(rest, folder, depth + 1)


def _from_python(words: list[str], folder: Path, command: str) -> Path:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-m" or (
            word.startswith("-") and not word.startswith("--") and word.endswith("m") and len(word) <= 4
        ):
            return _from_module(rest, folder, command)
        if word.startswith("-m") and len(word) > 2:
            return _from_module([word[2:], *rest], folder, command)
        if word == "-c" or word == "-":
            raise EntryNotFound(
                f"command {command!r}: expected a script, found code given in the command itself", hint=NAME_ENTRY
            )
        if word in PYTHON_VALUES:
            rest = rest[1:]
        elif not word.startswith("-"):
            return _script(word, folder)
    raise EntryNotFound(f"command {command!r}: expected a script after the interpreter, found none", hint=NAME_ENTRY)


def _from_module(words: list[str], folder: Path, command: str) -> Path:
    if not words:
        raise EntryNotFound(f"command {command!r}: expected a module after -m, found none", hint=NAME_ENTRY)
    launcher = MODULE_LAUNCHERS.get(words[0])
    return _from_launcher(words[1:], launcher, folder, command) if launcher else _module_file(words[0], folder, command)


def _module_file(module: str, folder: Path, command: str) -> Path:
    parts = module.split(".")
    for base in (folder, folder / "src"):
        at = base.joinpath(*parts)
        for path in (at.with_name(at.name + ".py"), at / "__main__.py"):
            if os.path.isfile(path):
                return path.resolve()
    expected = f"module {module}: expected {'/'.join(parts)}.py or {'/'.join(parts)}/__main__.py in {folder}, found"
    words = shlex.split(command)
    places = [site / name for site in _sites(words, folder, os.environ) for name in (parts[0], f"{parts[0]}.py")]
    if any(map(os.path.exists, places)):
        raise NoScript(f"{expected} it among the installed libraries", hint=_way_out(words), starts_python=True)
    raise EntryNotFound(f"{expected} neither", hint=f"run the command from the project's root, or {NAME_ENTRY}")


def _from_launcher(words: list[str], launcher: str, folder: Path, command: str) -> Path:
    """Skip a launcher's options; those that are not known as switches take the next word unless it is a script."""
    rest = list(words)
    if rest and rest[0] in SUBCOMMANDS:
        rest.pop(0)
    while rest:
        word = rest.pop(0)
        if word in {"-m", "--module"}:
            return _module_file(rest[0], folder, command) if rest else _no_script(command)
        if not word.startswith("-"):
            is_python = PYTHON.match(word.rpartition("/")[2])
            return _from_python(rest, folder, command) if is_python else _script(word, folder)
        takes_value = "=" not in word and word not in LAUNCHERS[launcher]
        if takes_value and rest and not rest[0].startswith("-") and not rest[0].endswith(".py"):
            rest.pop(0)
    return _no_script(command)


def _no_script(command: str) -> Path:
    raise EntryNotFound(
        f"command {command!r}: expected a script after the launcher's options, found none", hint=NAME_ENTRY
    )


def _from_shell(words: list[str], folder: Path, command: str, depth: int) -> list[Start]:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if not option.startswith("--") and option.endswith("c") and rest:
            return _from_lines(rest[0], folder, f"command {command!r}", depth)
    if not rest:
        raise EntryNotFound(f"command {command!r}: expected a shell script, found none", hint=NAME_ENTRY)
    return _from_shell_script(rest[0], folder, depth)


def _from_shell_script(name: str, folder: Path, depth: int) -> list[Start]:
    path = folder / name
    if not os.path.isfile(path):
        raise EntryNotFound(f"shell script {name}: expected a file in {folder}, found nothing there", hint=NAME_ENTRY)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise EntryNotPython(
            f"{name}: expected a shell script, found a file that is not text", hint=NAME_ENTRY
        ) from problem
    return _from_lines(text, folder, f"shell script {name}", depth)


def _from_lines(text: str, folder: Path, source: str, depth: int) -> list[Start]:
    """Read the lines of a shell script for the Python scripts that they start."""
    commands = [(words, at) for words, at in simple_commands(text, folder) if _starts_python(words)]
    found: dict[Path, Start] = {}
    for start in (start for words, at in commands for start in _read(words, at, depth)):
        is_other = start.script in found and found[start.script] != start
        found[start.script] = Start(start.script, []) if is_other else start
    if not found:
        raise NoScript(
            f"{source}: expected Python scripts to be started, found none that can be read off it", hint=NAME_ENTRY,
            starts_python=bool(commands),
        )  # fmt: skip
    return list(found.values())


def _read(words: list[str], folder: Path, depth: int) -> Iterator[Start]:
    try:
        yield from _from_words(words, folder, depth + 1)
    except (CommandNotFound, EntryNotFound, EntryNotPython):
        return  # what cannot be read, other lines may start


def _starts_python(words: list[str]) -> bool:
    names = {word.rpartition("/")[2] for word in words[:12]}
    return bool(names & _STARTING) or any(PYTHON.match(name) or name.endswith((".py", ".sh")) for name in names)


def _from_file(words: list[str], folder: Path, command: str, depth: int) -> list[Start]:
    word = words[0]
    path = folder / word
    if word.endswith(".py"):
        return [Start(_script(word, folder), words)]
    if os.path.isfile(path):
        first = _interpreter(path)
        if b"python" in first:
            return [Start(path.resolve(), words)]
        if word.endswith((".sh", ".bash")) or re.search(rb"\b(ba|z|da|k)?sh\b", first):
            return _from_shell_script(word, folder, depth)
        raise NoScript(f"{word}: expected a Python or shell script, found something else", hint=NAME_ENTRY)
    installed = next((each.file for each in console_scripts(folder) if each.name == word), None)
    if installed is not None:
        return [Start(installed, words)]
    program = shutil.which(word)
    if program is None:
        hint = f"nothing is at {path}; paths start in the folder you stand in" if "/" in word else missing_hint(word)
        raise CommandNotFound(f"command not found: {word}", hint=hint)
    raise NoScript(
        f"command {command!r}: expected a Python script in it, found the program {word}",
        hint=_way_out(words),
        starts_python=b"python" in _interpreter(Path(program)),
    )


def _script(word: str, folder: Path) -> Path:
    path = folder / word
    if os.path.isdir(path) and os.path.isfile(path / "__main__.py"):
        return (path / "__main__.py").resolve()
    return _checked(path, word)


def _checked(path: Path, name: str) -> Path:
    if os.path.isdir(path):
        raise EntryNotFound(f"entry {name}: expected a Python file, found a folder", hint=NAME_ENTRY)
    if not os.path.isfile(path):
        raise EntryNotFound(
            f"entry {name}: expected a Python file, found nothing there", hint=_similar(path) or NAME_ENTRY
        )
    if path.suffix not in {".py", ".pyw"} and b"python" not in _interpreter(path):
        raise EntryNotPython(
            f"entry {name}: expected Python source (.py), found {path.suffix or 'no suffix'}",
            hint=_way_out([name]),
        )
    return path.resolve()


def _interpreter(path: Path) -> bytes:
    """Read the first line of a script that names its interpreter (``#!``); empty for another file."""
    try:
        with path.open("rb") as file:
            first = file.readline(200)
    except OSError:  # a program need not be readable
        return b""
    return first if first.startswith(b"#!") else b""


def _way_out(words: list[str]) -> str:
    """Return what to do where the words of a command show no script."""
    notebook = next((word for word in words if word.endswith(".ipynb")), None)
    if notebook is None:
        return NAME_ENTRY
    return f"jupyter nbconvert --to script {shlex.quote(notebook)}, and name the script that it writes"


def _similar(path: Path) -> str:
    """Hint with the scripts that are there instead."""
    try:
        names = sorted(script.name for script in globbed(path.parent, "*.py"))[:5]
    except OSError:
        return ""
    return f"scripts there: {', '.join(names)}" if names else ""


#: A file or folder that marks the root of a repository.
REPOSITORY_MARK = ".git"


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A script that a command starts."""

    #: Relative to the project, with forward slashes.
    entry: str
    #: Empty where it is started several times.
    command: list[str]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the project it trains."""

    command: list[str]
    #: Root of the project, absolute.
    project: Path
    #: The folder the user stands in, relative to the project.
    folder: str
    #: The script that trains, relative to the project, with forward slashes; empty where none is known. Of several, the
    #: first one.
    entry: str
    #: The scripts that are started, with the words that start each; none where none is known.
    starts: list[Started] = []


def find_target(command: Sequence[str], cwd: Path, entry: str | None, project: Path | None) -> Target:
    """Find the project and the entry of `command`, typed in the folder `cwd`.

    Without `project`, the project is `cwd`, or the folder of the same repository that also holds the entry and
    what PYTHONPATH brings in: code outside the project is read where imports lead there, and never copied.

    Raises EntryNotFound or EntryNotPython if there is no entry, or it lies outside the project. Raises CommandNotFound
    if the program is not there. Raises BadOption if `cwd` lies outside `project`.
    """
    cwd = cwd.resolve()
    # Not resolve(): an entry that is a link belongs where the link is.
    starts = [Start(Path(os.path.abspath(s)), words) for s, words in find_starts(command, cwd, entry)]
    scripts = [start.script for start in starts]
    root = project.resolve() if project else project_root(cwd, *scripts)
    _require_inside(cwd, root)
    if script := next((script for script in scripts if not script.is_relative_to(root)), None):
        raise EntryNotFound(
            f"the entry {script} lies outside the project {root}",
            hint=f"type: cd {script.parent}, or name a folder that holds both with --project",
        )
    return Target(
        command=list(command),
        project=root,
        folder=cwd.relative_to(root).as_posix(),
        entry=scripts[0].relative_to(root).as_posix(),
        starts=[Started(entry=s.relative_to(root).as_posix(), command=words) for s, words in starts],
    )


def unscripted_target(command: Sequence[str], cwd: Path, project: Path | None) -> Target:
    """Return the target of a command that starts no Python script that is known.

    Raises BadOption if `cwd` lies outside `project`.
    """
    cwd = cwd.resolve()
    root = project.resolve() if project else project_root(cwd, cwd / command[0])
    _require_inside(cwd, root)
    return Target(command=list(command), project=root, folder=cwd.relative_to(root).as_posix(), entry="")


def _require_inside(cwd: Path, root: Path) -> None:
    if not cwd.is_relative_to(root):
        raise BadOption(f"you stand in {cwd}, outside the project {root}", hint=f"type: cd {root}")


def project_root(cwd: Path, *scripts: Path) -> Path:
    """Return the project of scripts started in `cwd`: that folder, or one above it in the same repository."""
    repository = next((folder for folder in (cwd, *cwd.parents) if os.path.exists(folder / REPOSITORY_MARK)), None)
    if repository is None:
        return cwd
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sources = [*(script.parent for script in scripts), *(Path(real_path(cwd / entry)) for entry in entries if entry)]
    inside = [folder for folder in sources if folder.is_relative_to(repository) and os.path.isdir(folder)]
    return Path(os.path.commonpath([cwd, *inside]))


# Folders beside the project that its imports may lead to: PYTHONPATH, and what is installed to be edited.

#: Where an interpreter keeps libraries, from the folder above its own.
_SITES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "Lib/site-packages")


def import_folders(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the folders that a command's imports may come from, other than its own and those of libraries.

    `cwd` is the folder that the command is started in. Without a command, or with one that names no interpreter, the
    ``python`` of the search path counts.
    """
    entries = [Path(cwd, entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders = [*entries, *(folder for site in _sites(command, cwd, environment) for folder in _editable(site))]
    return list(dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders if os.path.isdir(folder)))


def file_digests(files: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file that can be read."""
    digests = {}
    for file in files:
        try:
            digests[file] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        except OSError:
            continue
    return digests


def _sites(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> list[Path]:
    named = next((word for word in command if PYTHON.match(word.rpartition("/")[2])), "python")
    path = str(cwd / named) if "/" in named else named
    program = shutil.which(path, path=environment.get("PATH")) or sys.executable
    # A virtual environment is known by where its interpreter lies, not by what that is a link to.
    prefixes = [Path(program).parent.parent, Path(os.path.realpath(program)).parent.parent]
    return next((sites for prefix in prefixes if (sites := [s for way in _SITES for s in prefix.glob(way)])), [])


def _editable(site: Path) -> Iterator[Path]:
    """Yield the folders that ``.pth`` files add, and those of packages that setuptools' finders map."""
    for file in sorted(site.glob("*.pth")):
        for line in _text(file).splitlines():
            if line.strip() and not line.startswith(("import ", "import\t", "#")):
                yield site / line.strip()
    for file in sorted(site.glob("__editable__*_finder.py")):
        for package, folder in _mapping(_text(file)).items():
            path = Path(folder)
            if path.name in {package.rpartition(".")[2], f"{package}.py"}:
                yield path.parents[package.count(".")]


def _mapping(text: str) -> dict[str, str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    for node in tree.body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == "MAPPING" for target in targets):
            try:
                return {str(key): str(folder) for key, folder in ast.literal_eval(getattr(node, "value", node)).items()}
            except (ValueError, TypeError, AttributeError):
                return {}
    return {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
