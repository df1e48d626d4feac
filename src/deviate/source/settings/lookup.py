"""Look a setting up: what the command gives, else what a configuration file lists, else what the source declares."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePath

from deviate.core.paths import globbed
from deviate.lexicon.words import is_settings_name, plain, words_of
from deviate.source.configurations import config_files, root_configuration, root_file
from deviate.source.files import read_texts, shell_scripts, simple_commands
from deviate.source.index import ModuleIndex, Scope, Store, bindings_of, only_binding, under_main_guard
from deviate.source.settings.options import (
    SUFFIXES,
    Known,
    Listed,
    Option,
    agreed,
    composed_settings,
    declared_options,
    derived_options,
    listed_by_classes,
    literal,
    read_settings,
)
from deviate.source.syntax import called_name, dotted_text

# The words of a command after its script, as settings: ``--name value``, ``--name=value``, ``name=value``.

_ASSIGNED = re.compile(r"^\+{0,2}([A-Za-z_][\w./-]*)=(.*)$", re.DOTALL)
_NUMBER = re.compile(r"^-\.?\d")


class Arguments:
    """What a command gives, by the names it uses."""

    def __init__(self, words: Sequence[str]) -> None:
        #: Words after each option; an option that is given more often keeps the last ones.
        self.options: dict[str, list[str]] = {}
        #: ``name=value`` without dashes, as Hydra and Sacred take them.
        self.assigned: dict[str, str] = {}
        #: All values, whatever they are given for.
        self.values: list[str] = []
        #: Words after options that several commands give differently: those of the first one.
        self.first: dict[str, list[str]] = {}
        #: Of such options, how many of the commands give each word.
        self.differing: dict[str, Counter[str]] = {}
        #: Those before the first option.
        self.leading: list[str] = []
        last: list[str] | None = None
        for word in words:
            if word.startswith("-") and not _NUMBER.match(word):
                name, sign, value = word.partition("=")
                last = self.options[name] = [value] if sign else []
                self.values.extend([value] if sign else [])
                continue
            (self.leading if last is None else last).append(word)
            assigned = _ASSIGNED.match(word)
            if assigned is not None:
                self.assigned[assigned[1]] = assigned[2]
            self.values.append(assigned[2] if assigned is not None else word)


def words_after(command: Sequence[str], entry: str) -> list[str] | None:
    """Return the words of a command after the one that names the entry: its path, its folder or its module.

    None where no word does, as in ``bash train.sh``: what the script is started with is not known.
    """
    path = PurePath(entry).with_suffix("")
    names = {path.as_posix(), path.parent.as_posix()} if path.name == "__main__" else {path.as_posix()}
    for at, word in enumerate(command):
        plain = re.sub(r"^(-m|\./)", "", word).removesuffix(".py").rstrip("/")
        forms = {plain, plain.replace(".", "/")}
        if any(form and (name == form or name.endswith("/" + form) or form.endswith("/" + name))
               for name in names for form in forms):  # fmt: skip
            return list(command[at + 1 :])
    return None


#: Formats of settings that are not read.
_OTHER_SUFFIXES = {".toml", ".ini", ".cfg", ".conf"}
_FILE = re.compile(r"\.(ya?ml|json)$")


class Settings:
    """The settings of a program whose command has `arguments` after the script.

    `is_usual` says that they are those that the project's documents give, and no command: then an option whose default
    is nothing is not known.
    """

    def __init__(
        self,
        modules: Sequence[ModuleIndex],
        entry: ModuleIndex | None,
        root: Path,
        arguments: Arguments,
        *,
        is_usual: bool = False,
    ) -> None:
        self.modules = modules
        self.entry = entry
        self.root = root
        self.arguments = arguments
        self.is_usual = is_usual

    def value(self, keys: tuple[str, ...], *, is_choice: bool = False) -> Known | None:
        """Return the setting that keys lead to; None where it is not known or the program changes it.

        Where documents give different words, it is the default if that is the first and no other is commoner, or if
        `is_choice`; else what the first command assigns.
        """
        if not keys or keys[-1] in self._changed:
            return None
        given = self._given(keys)
        if given is not None:
            is_open = self.is_usual and (is_choice or self._is_default_documented(keys[0]))
            return given[0] or self._like_project(keys) or (self._default(keys) if is_open else None)
        listed = _only(self._chosen, keys)
        if listed is not None:
            return listed
        if self._names_other_files:
            return None
        default = self._default(keys)
        if default is None or (self.is_usual and default.value in (None, "")):
            return self._like_project(keys) or (self._assigned_first(keys) if is_choice else None)
        return default

    def is_nothing(self, keys: tuple[str, ...]) -> bool:
        """Whether a setting is None by default, and no document gives it."""
        return self._given(keys) is None and keys[-1] not in self._changed and self._default(keys) == Known(None)

    def _default(self, keys: tuple[str, ...]) -> Known | None:
        """Return what options are by default, or what the files list that the source names."""
        options = self._options.get(keys[0], []) if len(keys) == 1 else []
        usual = _only(self._usual, keys)
        defaults = [*(option.default for option in options), *([usual] if usual is not None else [])]
        return agreed(defaults or (self._of_classes.get(keys[0], []) if len(keys) == 1 else []))

    def flags(self, name: str) -> list[str]:
        """Return how a command may write the option that the program reads by a name."""
        return [flag for option in self._options.get(name, []) for flag in option.flags]

    @cached_property
    def _of_classes(self) -> dict[str, list[Known | None]]:
        listed: dict[str, list[Known | None]] = {}
        for name, value in listed_by_classes(cls for module in self.modules for cls in module.classes):
            listed.setdefault(name, []).append(value)
        return listed

    def _is_default_documented(self, name: str) -> bool:
        """Whether commands differ in an option, the first gives it its default, and no other word is commoner."""
        flags = [(option.default, flag) for option in self._options.get(name, []) for flag in option.flags]
        return any(
            default is not None and _is_first_and_most(str(default.value), self.arguments.differing.get(flag, {}))
            for default, flag in flags
        )

    def _assigned_first(self, keys: tuple[str, ...]) -> Known | None:
        """Return what the first of several documented commands assigns."""
        words = self.arguments.first.get(".".join(keys))
        return _read(words[0]) if words else None

    def _like_project(self, keys: tuple[str, ...]) -> Known | None:
        """Return the choice that the project's folder is called like: of methods to compare, the one it is about.

        That is where a project's documents differ in what they give, or give nothing.
        """
        options = self._options.get(keys[0], []) if self.is_usual and len(keys) == 1 else []
        like = [choice for option in options for choice in option.choices if self.is_project(choice)]
        return Known(like[0]) if len(set(like)) == 1 else None

    def is_project(self, name: str) -> bool:
        """Whether the project's folder is called like a name, in part at least."""
        return plain(name) in self._project_names

    @cached_property
    def _project_names(self) -> set[str]:
        return {plain(word) for folder in (self.root, self.root.parent) for word in _named(folder)} - {""}

    def word(self, position: int) -> Known | None:
        """Return the word of the command at a place, from 1, where no option stands before it."""
        leading = self.arguments.leading
        return Known(leading[position - 1]) if 0 < position <= len(leading) else None

    @cached_property
    def texts(self) -> set[str]:
        """Texts that the command, its files or the defaults of its options have as values."""
        known = [*(self._chosen or self._usual).values()]
        for options in self._options.values():
            known += [value for option in options if (value := self.value((option.name,))) is not None]
        return {*self.arguments.values, *(each.value for each in known if isinstance(each.value, str))}

    def _given(self, keys: tuple[str, ...]) -> tuple[Known | None] | None:
        """Return what the command gives, in a tuple of its own: given and unreadable is not the same as not given."""
        assigned = self.arguments.assigned.get(".".join(keys))
        if assigned is not None:
            return (_read(assigned),)
        for option in self._options.get(keys[0], []) if len(keys) == 1 else []:
            for name, words in self.arguments.options.items():
                if name in option.flags or self._is_short_for(name, option):
                    is_needed = option.default is None and option.switch is None
                    return (option.given(self.arguments.first.get(name, words) if is_needed else words),)
            if option in self._by_position:
                at = self._by_position.index(option)
                return (option.given(self.arguments.leading[at : at + 1]),)
            negations = {"--no" + option.name, "--no-" + option.name, "--no-" + option.name.replace("_", "-")}
            if option.type == "bool" and not negations.isdisjoint(self.arguments.options):
                return (Known(False),)
        return None

    @cached_property
    def _options(self) -> dict[str, list[Option]]:
        options: dict[str, list[Option]] = {}
        for module in self.modules:
            sites = (site for unit in module.units for site in unit.calls)
            started = (site for site in sites if module is self.entry or not under_main_guard(site.nesting))
            for option in declared_options(started):
                options.setdefault(option.name, []).append(option)
        for option in self._derived:
            options.setdefault(option.name, []).append(option)
        return options

    @cached_property
    def _derived(self) -> list[Option]:
        units = [unit for module in self.modules for unit in module.units]
        sites = (site for unit in units for site in unit.calls)
        return list(derived_options(sites, (cls for module in self.modules for cls in module.classes), units))

    def _is_short_for(self, name: str, option: Option) -> bool:
        """Whether a command writes the beginning of an option's name, as argparse lets it."""
        declared = (flag for options in self._options.values() for other in options for flag in other.flags)
        is_start = name.startswith("--") and any(flag.startswith(name) for flag in option.flags)
        return is_start and name not in declared

    @cached_property
    def _by_position(self) -> list[Option]:
        return [option for options in self._options.values() for option in options if option.flags == (option.name,)]

    def computed(self, keys: tuple[str, ...]) -> Store | None:
        """Return the one assignment that gives a setting its value whatever the command says: ``args.n = n``."""
        stores = self._changed.get(keys[-1], []) if keys else []
        return stores[0] if len(stores) == 1 and stores[0] is not None and stores[0].nesting is None else None

    @cached_property
    def _changed(self) -> dict[str, list[Store | None]]:
        """Names that the program assigns to its settings, with the assignments; None for what else sets them."""
        changed: dict[str, list[Store | None]] = {}
        for unit in (unit for module in self.modules for unit in module.units):
            for store in unit.stores:
                target = store.target
                holder = target.value.attr if isinstance(target.value, ast.Attribute) else dotted_text(target.value)
                key = target.attr if isinstance(target, ast.Attribute) else literal(target.slice)
                name = key if isinstance(key, str) else str(key.value) if key is not None else ""
                if holds_settings(holder) and not (_is_own_copy(store) or _is_handed_on(store, name)):
                    changed.setdefault(name, []).append(store)
            for site in unit.calls:
                if called_name(site.node) == "set_defaults":
                    for keyword in site.node.keywords:
                        changed.setdefault(keyword.arg or "", []).append(None)
        return changed

    # Configuration files.

    @cached_property
    def _chosen(self) -> Listed:
        """What the files list that the command names, by path or by the name of a file; the last one wins."""
        listed: Listed = {}
        for group, path in self._named_files():
            listed.update({(*group, *keys): value for keys, value in read_settings(path).items()})
        return listed

    @cached_property
    def _names_other_files(self) -> bool:
        """Whether the command names a file of settings that cannot be read: it may change any of them."""
        return any(
            PurePath(value).suffix in SUFFIXES | _OTHER_SUFFIXES
            and not (PurePath(value).suffix in SUFFIXES and os.path.isfile(self.root / value))
            for value in self.arguments.values
        )

    def _named_files(self) -> Iterator[tuple[tuple[str, ...], Path]]:
        by_stem: dict[str, list[Path]] | None = None
        groups = {value: name for name, value in self.arguments.assigned.items()}
        for value in self.arguments.values:
            path = self.root / value
            if path.suffix in SUFFIXES and os.path.isfile(path):
                yield (), path
                continue
            if by_stem is None:
                by_stem = {}
                for file in config_files(self.root):
                    by_stem.setdefault(file.stem, []).append(file)
            files = by_stem.get(value, [])
            group = groups.get(value, "")
            if len(files) > 1 and group:
                files = [file for file in files if file.parent.name == group.rpartition("/")[2]]
            if len(files) == 1:
                yield ((group,) if group and files[0].parent.name == group else ()), files[0]

    @cached_property
    def _usual(self) -> Listed:
        """What the files list that the source names, and those that Hydra composes; what they differ in is left out."""
        listed: Listed = {}
        differing: set[tuple[str, ...]] = set()
        for settings in (self._composed, *map(read_settings, dict.fromkeys(self._files_in_source()))):
            for keys, value in settings.items():
                if listed.setdefault(keys, value) != value:
                    differing.add(keys)
        return {keys: value for keys, value in listed.items() if keys not in differing}

    @cached_property
    def _composed(self) -> Listed:
        name = root_configuration(self.entry, self.arguments.options | self.arguments.first)
        file = root_file(self.root, name)
        return composed_settings(file, self.arguments.assigned) if file is not None else {}

    def _files_in_source(self) -> Iterable[Path]:
        for name in self._names_in_source():
            if os.path.isfile(self.root / name):
                yield self.root / name
                continue
            same = [file for file in config_files(self.root) if file.name == name.rpartition("/")[2]]
            if len(same) == 1:
                yield same[0]

    def _names_in_source(self) -> Iterator[str]:
        """Yield the texts of the entry and its options that name a configuration file."""
        for option in (option for options in self._options.values() for option in options):
            if any(name in option.flags for name in self.arguments.options):
                continue  # its default is not what counts
            default = option.default.value if option.default is not None else None
            if isinstance(default, str) and Path(default).suffix in SUFFIXES:
                yield default
        for node in ast.walk(self.entry.tree) if self.entry is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FILE.search(node.value):
                yield node.value


def _is_first_and_most(word: str, counts: Mapping[str, int]) -> bool:
    return next(iter(counts), None) == word and counts[word] == max(counts.values())


def _is_own_copy(store: Store) -> bool:
    """Whether what is assigned to is a copy that the function made of settings, or its own mapping of arguments."""
    holder = store.target.value
    made = [each.value for each in bindings_of(holder.id, store.scope)] if isinstance(holder, ast.Name) else []
    return bool(made) and all(
        (isinstance(value, ast.Call) and called_name(value) in {"copy", "deepcopy"})
        or (isinstance(value, ast.Dict) and dotted_text(holder) == "kwargs")
        for value in made
    )


def _is_handed_on(store: Store, name: str) -> bool:
    """Whether a setting gets the value that it has in other settings: ``saved["mode"] = args.mode``."""
    value = store.value
    if isinstance(value, ast.Attribute):
        return value.attr == name and holds_settings(dotted_text(value.value).rpartition(".")[2])
    is_item = isinstance(value, ast.Subscript) and literal(value.slice) == Known(name)
    return is_item and isinstance(value, ast.Subscript) and holds_settings(dotted_text(value.value).rpartition(".")[2])


def holds_settings(name: str) -> bool:
    """Whether a variable of this name holds settings, or some of them: ``training_args``."""
    return is_settings_name(name) or any(is_settings_name(word) for word in words_of(name)[-1:])


def _named(folder: Path) -> list[str]:
    """Return the name of a folder, without the owner of a repository, and its words: ``owner+hat-pytorch`` is hat."""
    name = folder.name.rpartition("+")[2]
    return [name, *re.split(r"[-_. ]+", name)]


def _only(listed: Listed, keys: tuple[str, ...]) -> Known | None:
    """Return the setting under keys, unless another one has the same last key, which a part may be read by."""
    found = listed.get(keys)
    same = found is not None and sum(other[-1] == keys[-1] for other in listed)
    return found if same == 1 or len(keys) > 1 else None


def _read(text: str) -> Known:
    try:
        return Known(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return Known({"true": True, "false": False, "null": None}.get(text.lower(), text))


# How an expression reads a setting: by keys, or by the place of a word in the command.


def word_position(node: ast.expr) -> int:
    """Return which word of the command an expression reads by its place: 1 for ``sys.argv[1]``; 0 for none."""
    if not isinstance(node, ast.Subscript) or dotted_text(node.value) not in {"sys.argv", "argv"}:
        return 0
    at = node.slice.value if isinstance(node.slice, ast.Constant) else 0
    return at if isinstance(at, int) else 0


def flag_held(node: ast.expr, scope: Scope) -> str:
    """Return the flag that is read through what declares it, as absl's may be: ``_MODE.value``."""
    if not isinstance(node, ast.Attribute) or node.attr != "value" or not isinstance(node.value, ast.Name):
        return ""
    held = only_binding(node.value.id, scope)
    call = held.value if held is not None else None
    if not isinstance(call, ast.Call) or not called_name(call).startswith("DEFINE_") or not call.args:
        return ""
    name = literal(call.args[0])
    return name.value if name is not None and isinstance(name.value, str) else ""


def setting_keys(node: ast.expr) -> tuple[str, ...]:
    """Return the keys by which an expression reads a setting: ``args.model``, ``config["model"]["name"]``."""
    keys: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            keys.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            keys.append(str(node.slice.value))
            node = node.value
        elif isinstance(node, ast.Call) and called_name(node) == "vars" and len(node.args) == 1:
            node = node.args[0]
        else:
            return ()
    names = [node.id, *reversed(keys)]
    last = max((at for at, name in enumerate(names[:-1]) if holds_settings(name)), default=-1)
    return tuple(names[last + 1 :]) if last >= 0 else ()


# How a project's own documents start a script: what its options usually are, where no command is given.

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
