"""Look a setting up: what the command gives, else what a configuration file lists, else what the source declares."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath

from deviate.analyse.naming.words import is_settings_name, words_of
from deviate.analyse.settings.arguments import Arguments
from deviate.analyse.settings.composed import composed_settings
from deviate.analyse.settings.derived import derived_options, listed_by_classes
from deviate.analyse.settings.files import SUFFIXES, Listed, read_settings
from deviate.analyse.settings.known import Known, agreed, literal
from deviate.analyse.settings.options import Option, declared_options
from deviate.analyse.source.configurations import config_files, root_configuration, root_file
from deviate.analyse.source.index import ModuleIndex, Store, bindings_of, under_main_guard
from deviate.analyse.source.syntax import called_name, dotted_text

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

    @cached_property
    def _of_classes(self) -> dict[str, list[Known | None]]:
        """What classes of settings list, by name."""
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
        return _plain(name) in self._project_names

    @cached_property
    def _project_names(self) -> set[str]:
        return {_plain(word) for folder in (self.root, self.root.parent) for word in _named(folder)} - {""}

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


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


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
