"""Find and load the project's own modules that the entry reaches.

Where modules are looked for: the folders of a program's search path.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cached_property
from pathlib import Path

from deviate.core.experiment import Unreadable
from deviate.core.paths import globbed
from deviate.source.configurations import config_names, config_targets, config_texts
from deviate.source.files import UnreadableSourceError, exported_folders, read_source
from deviate.source.index import ModuleIndex, Scope, Unit, bindings_of, only_binding
from deviate.source.indexer import index_module
from deviate.source.syntax import (
    DOTTED_TEXT,
    IMPORTERS,
    called_name,
    constant_ends,
    constant_start,
    dotted_text,
    imported_names,
    named_path,
    open_parts,
    passed_for,
)

#: Folders that libraries are installed in; the runtime knows what those libraries draw for.
LIBRARY_FOLDERS = {"site-packages", "dist-packages"}
#: So far above the project, packages are looked for that it, or its repository, may be a part of.
MAX_ABOVE = 2
#: Files by which a folder is one that is installed, and what a whole repository or distribution has.
_INSTALLED_MARKS = ("setup.py", "pyproject.toml")
_TOP_MARKS = (".git", *_INSTALLED_MARKS)
#: Libraries that are not read, even where they are installed to be edited: the runtime has boundaries for them, or
#: they are too large. `deviate.core.frameworks` has other packages: those that need a setting before a training starts.
LIBRARIES = frozenset(
    [
        "torch",
        "torchvision",
        "torchaudio",
        "tensorflow",
        "keras",
        "jax",
        "jaxlib",
        "flax",
        "optax",
        "haiku",
        "lightning",
        "pytorch_lightning",
        "accelerate",
        "transformers",
        "datasets",
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "gymnasium",
        "gym",
        "paddle",
        "numba",
        "triton",
    ]
)


class SearchPath:
    """The folders that a program's modules are looked for in.

    `folders` are what else is on the module search path: modules are read from them wherever they lie. A wide search
    also looks where Python would not, unless the project is installed: in the repository that `root` is a folder of.
    """

    def __init__(self, root: Path, entry: Path, folders: Sequence[Path] = (), is_wide: bool = False) -> None:
        self.root = root
        self.is_wide = is_wide
        self.folders: list[Path] = [entry.parent]
        #: The project and the folders around it, by the package that they are called like.
        self._called: dict[str, list[Path]] = {}
        for folder in (root, *root.parents[:MAX_ABOVE]):
            self._called.setdefault(_package(folder), []).append(folder)
        self._packages: dict[str, str] = {}
        self._exists: dict[Path, bool] = {}
        self.add([root, *exported_folders(root), root / "src"])
        self.add(folders, anywhere=True)
        if is_wide and not _is_top(root) and (top := next(filter(_is_top, root.parents[:MAX_ABOVE]), None)) is not None:
            self.add([top, top / "src"], anywhere=True)

    def add(self, folders: Iterable[Path], anywhere: bool = False) -> bool:
        """Look also in these folders, only within the project unless `anywhere`; return whether any is new."""
        count = len(self.folders)
        for folder in folders:
            clean = _normal(folder)
            may_be_read = self.holds(clean) or (anywhere and not _has_libraries(clean))
            if clean not in self.folders and may_be_read and os.path.isdir(clean):
                self.folders.append(clean)
        return len(self.folders) > count

    def locate(self, dotted: str, base: Path) -> Path | None:
        """Find the file of a module by its dotted name, as seen from a file in the folder `base`."""
        name = dotted.lstrip(".")
        level = len(dotted) - len(name)
        if level:
            for _ in range(level - 1):
                base = base.parent
            is_read = self.holds(base) or relative(base, self.root) in self._packages
            return self._module_file(base, name) if is_read else None
        file = next((path for folder in self.folders if (path := self._module_file(folder, name))), None)
        if file is None:
            return self._brought_along(name) or self._above(name)
        is_library = not self.holds(file) and name.partition(".")[0] in LIBRARIES
        return None if is_library else file

    def _brought_along(self, dotted: str) -> Path | None:
        """Find a module of a distribution that lies in the project, to be installed: ``kit/setup.py``."""
        package = dotted.partition(".")[0]
        folder = self.root / package
        is_own = package not in LIBRARIES and self._is_file(folder / "setup.py")
        return self._module_file(folder, dotted) if is_own else None

    def _above(self, dotted: str) -> Path | None:
        """Find a module that no folder of the search path holds, in the package that the project is, or is in.

        Such a program is started from the folder above the package. In a wide search, the end of a dotted name counts,
        too: a package may stand elsewhere where it is installed.
        """
        package, _, rest = dotted.partition(".")
        if package in LIBRARIES:
            return None
        places = [(folder, rest) for folder in self._called.get(package, ())]
        if self.is_wide and not places:
            ends = [rest.split(".", count)[-1] for count in range(rest.count("."))]
            places = [(folder, end) for end in ends for folder in self.folders]
        file = next((path for folder, name in places if (path := self._module_file(folder, name))), None)
        if file is None and not self.is_wide:
            file = self._installed_from_above(dotted)
        return self._beside(dotted) if file is None and self.is_wide and not rest else file

    def _installed_from_above(self, dotted: str) -> Path | None:
        """Find a module of the package that the repository around the project is installed as."""
        package = dotted.partition(".")[0]
        held = [home for home in self._homes_above if self._is_file(home / package / "__init__.py")]
        return next((path for home in held if (path := self._module_file(home, dotted))), None)

    @cached_property
    def _homes_above(self) -> list[Path]:
        """Folders with the packages of the installed repository that holds the project."""
        tops = self.root.parents[: MAX_ABOVE + 1] if not _is_top(self.root) else ()
        top = next((each for each in tops if any(os.path.isfile(each / mark) for mark in _INSTALLED_MARKS)), None)
        return [top, top / "src"] if top is not None else []

    def _beside(self, name: str) -> Path | None:
        """Find the one file of a name in the folders beside the entry's, which a script may put on the search path."""
        homes = [home for home in (self.root, self.folders[0].parent) if self.holds(home)]
        found = {path for home in homes for path in globbed(home, f"*/{name}.py")}
        return found.pop() if len(found) == 1 else None

    def _module_file(self, folder: Path, dotted: str) -> Path | None:
        at = folder.joinpath(*dotted.split(".")) if dotted else folder
        for path in (at.with_name(at.name + ".py") if dotted else at / "__init__.py", at / "__init__.py"):
            if self._is_file(path):
                return path
        return None

    def _is_file(self, path: Path) -> bool:
        if path not in self._exists:
            try:
                self._exists[path] = os.path.isfile(path)
            except (OSError, ValueError):
                self._exists[path] = False
        return self._exists[path]

    def holds(self, path: Path) -> bool:
        """Whether a path lies in the project."""
        return path == self.root or self.root in path.parents

    def dotted(self, path: Path) -> str:
        """Return the dotted name of a module's file."""
        root = self.root
        if not self.holds(path):
            root = next((folder for folder in self.folders if folder in path.parents), path.parent)
            for folder in path.relative_to(root).parents:
                self._packages[(root / folder).as_posix()] = folder.as_posix()
        parts = list(Path(relative(path, root)).with_suffix("").parts)
        return ".".join(parts[:-1] if parts and parts[-1] == "__init__" else parts)

    def is_package(self, dots: str, parts: list[str]) -> bool:
        """Whether the first part is a folder without ``__init__.py``, which Python imports all the same."""
        if dots or any(os.path.isdir(folder / parts[0]) for folder in self.folders):
            return True
        return parts[0] not in LIBRARIES and (self.is_wide or parts[0] in self._called)


def _has_libraries(folder: Path) -> bool:
    """Whether libraries are installed in a folder, which ``pip install --target`` may have called anything."""
    return bool(LIBRARY_FOLDERS & set(folder.parts) or globbed(folder, "*.dist-info"))


def _package(folder: Path) -> str:
    """Return the package that a folder is called like, the owner and the branch of a repository aside."""
    name = folder.name.rpartition("+")[2].removesuffix("-main").removesuffix("-master")
    return name.replace("-", "_")


def _is_top(folder: Path) -> bool:
    """Whether a folder is that of a whole repository or distribution."""
    return any(os.path.exists(folder / mark) for mark in _TOP_MARKS)


def relative(path: Path, root: Path) -> str:
    """Path relative to the project with forward slashes; absolute when outside."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.as_posix()


def _normal(path: Path) -> Path:
    """Resolve ``..`` by text alone, so that symbolic links inside the project stay inside."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and len(parts) > 1:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return Path(*parts)


#: Files outside the project that are read at most: more are a library, whoever brings it in.
MAX_OUTSIDE_FILES = 300
#: Plug-ins of a package that are read at most.
MAX_PLUGIN_FILES = 60
_LOADERS = {"spec_from_file_location", "load_source", "run_path", "SourceFileLoader"}
_PATH_METHODS = {"append", "insert", "extend"}
#: A text that is the path of a Python file.
_FILE_TEXT = re.compile(r"""["']([\w./-]+\.py)["']""")


class Imports:
    """The modules of a project, loaded when an import reaches them.

    `folders` are what else is on the module search path: modules are read from them wherever they lie. Of modules that
    names choose, those that `words` of the command name come first. Where `is_wide`, what texts name is read as well.
    """

    def __init__(
        self,
        root: Path,
        entry: Path,
        folders: Sequence[Path] = (),
        words: Set[str] = frozenset(),
        *,
        is_wide: bool = False,
    ) -> None:
        self.root = root
        self._words = words
        self.modules: dict[Path, ModuleIndex | None] = {}
        self.unreadable: list[Unreadable] = []
        self.search = SearchPath(root, entry, folders, is_wide)
        #: Files outside the project, by their absolute paths.
        self.outside: list[str] = []
        self._is_full = False
        self._located: dict[tuple[str, str], ModuleIndex | None] = {}
        self._is_configured = is_wide
        #: Whether modules are imported by names that are computed, and where such names were looked for.
        self._is_named = is_wide
        self._looked_at: set[ModuleIndex] = set()
        #: Whether files are loaded by their paths, and how many modules were searched for such paths.
        self._loads_files = False
        self._searched = 0
        #: Texts of the configuration files, where they were looked at for dotted names; the names that they call.
        self.configurations: dict[Path, str] = {}
        self.targets: list[str] = []
        #: Modules that are imported by a computed name: what of them runs is not written out.
        self.plugins: list[ModuleIndex] = []

    def loaded(self) -> Iterator[ModuleIndex]:
        """Yield the modules that could be read, in the order they were reached."""
        return (module for module in self.modules.values() if module is not None)

    def load_all(self, entry: Path) -> ModuleIndex | None:
        """Load the entry and everything it imports, directly or not."""
        first = self.load(entry)
        done: set[Path] = set()
        while waiting := [(path, module) for path, module in self.modules.items() if path not in done]:
            searched = len(self.search.folders)
            for path, module in waiting:
                done.add(path)
                if module is not None:
                    self._follow(module, path)
            if self._is_named:
                self._load_named()
            if self._loads_files:
                self._load_files_named()
            if len(self.search.folders) > searched:
                done.clear()  # what was not found before may be found now
        return first

    def load(self, path: Path) -> ModuleIndex | None:
        """Read and index one file, once; a file that cannot be read is listed and gives None."""
        if path in self.modules:
            return self.modules[path]
        file = relative(path, self.root)
        self.modules[path] = None
        if not self.search.holds(path):
            if len(self.outside) >= MAX_OUTSIDE_FILES:
                if not self._is_full:
                    error = f"not read, nor what comes after it: {MAX_OUTSIDE_FILES} files outside the project were"
                    self.unreadable.append(Unreadable(file=file, line=1, error=error))
                self._is_full = True
                return None
            self.outside.append(file)
        try:
            source = read_source(path)
        except UnreadableSourceError as problem:
            self.unreadable.append(Unreadable(file=file, line=problem.line, error=problem.reason))
            return None
        module = index_module(file, self.search.dotted(path), source.tree, source.lines)
        self.modules[path] = module
        return module

    def find(self, dotted: str, importer: ModuleIndex) -> ModuleIndex | None:
        """Find the project's module of a dotted name as seen from another one."""
        # An absolute name is the same in every file.
        key = (dotted, importer.file.rpartition("/")[0] if dotted.startswith(".") else "")
        if key not in self._located:
            path = self.search.locate(dotted, (self.root / importer.file).parent)
            self._located[key] = self.load(path) if path is not None else None
        return self._located[key]

    def below(self, folder: str, name: str) -> ModuleIndex | None:
        """Find a module in a folder of the project that is imported without being a module: no ``__init__.py``."""
        return self._located.get((f"{folder}.{name}", "")) if folder in self._namespaces else None

    @cached_property
    def _namespaces(self) -> set[str]:
        """Dotted names that modules of the project were imported from below."""
        found = [dotted for (dotted, folder), module in self._located.items() if module is not None and not folder]
        return {dotted[:at] for dotted in found for at, letter in enumerate(dotted) if letter == "."}

    def _follow(self, module: ModuleIndex, path: Path) -> None:
        self._follow_path_edits(module, path)
        for node, _, _ in module.imports:
            for dotted in imported_names(node):
                self._load_dotted(dotted, module)
        for dotted in module.stars:
            self._load_all_of(dotted, module)
        self._follow_dynamic(module)

    def _load_all_of(self, dotted: str, module: ModuleIndex) -> None:
        """Load the modules of a package that ``__all__`` may list, as ``from package import *`` does."""
        package = self.find(dotted, module)
        if package is not None and package.file.endswith("__init__.py") and "__all__" in package.unit.bindings:
            self._load_folder((self.root / package.file).parent)

    def _load_dotted(self, dotted: str, module: ModuleIndex) -> None:
        name = dotted.lstrip(".")
        dots = "." * (len(dotted) - len(name))
        parts = name.split(".") if name else []
        self._is_configured = self._is_configured or parts[:1] == ["hydra"]
        for end in range(1, len(parts) + 1):
            if (
                self.find(dots + ".".join(parts[:end]), module) is None
                and end == 1
                and not self.search.is_package(dots, parts)
            ):
                return
        if not parts:
            self.find(dots, module)

    def _follow_path_edits(self, module: ModuleIndex, path: Path) -> None:
        for site in (site for unit in module.units for site in unit.calls):
            if called_name(site.node) in _PATH_METHODS and dotted_text(site.node.func).startswith("sys.path."):
                self._look_in([folder for folder in path.parents if self.search.holds(folder)])
                for arg in site.node.args:
                    for part in arg.elts if isinstance(arg, (ast.List, ast.Tuple)) else [arg]:
                        self._lead_to(part, site.scope, path)

    def _lead_to(self, folder: ast.expr, scope: Scope, path: Path) -> None:
        """Search also where an expression in a file leads; where that is unknown, each text in it may be a folder."""
        if isinstance(folder, ast.Name) and folder.id in scope.unit.parameters:
            self._lead_through(scope.unit, folder.id, path)
            return
        named = named_path(folder, scope, path)
        if named is not None:
            self._look_in([base / named for base in (path.parent, self.root)], anywhere=True)
            return
        texts = [node.value for node in ast.walk(folder) if isinstance(node, ast.Constant)]
        self._look_in([base / t for t in texts if isinstance(t, str) for base in (path.parent, self.root)])

    def _lead_through(self, unit: Unit, parameter: str, path: Path) -> None:
        """Search where the calls of a function lead that adds its parameter to the search path."""
        for caller in unit.module.units:
            for site in caller.calls:
                if called_name(site.node) == unit.name and caller is not unit:
                    for given in passed_for(site.node, unit, parameter):
                        self._lead_to(given, site.scope, path)

    def _look_in(self, folders: Iterable[Path], anywhere: bool = False) -> None:
        if self.search.add(folders, anywhere):
            self._located = {}

    def _follow_dynamic(self, module: ModuleIndex) -> None:
        for unit in module.units:
            for site in unit.calls:
                name = called_name(site.node)
                if name == "exec" and site.node.args:
                    self._load_executed(site.node.args[0], site.scope, module)
                if name in _LOADERS:
                    self._loads_files = True
                    self._load_plugins([self.root / word for word in sorted(self._words) if self._is_script(word)])
                if name in IMPORTERS and site.node.args:
                    for text in _assigned(site.node.args[0], site.scope):
                        self._load_pattern(text, module)
                        self._load_defaults(text, module)
                    # A name that is computed may stand in a configuration file, as Hydra's do, or in a text.
                    is_computed = not isinstance(site.node.args[0], ast.Constant)
                    self._is_configured = self._is_configured or is_computed
                    self._is_named = self._is_named or is_computed
        if self._is_configured:
            self._is_configured = False
            self.configurations = self.configurations or config_texts(self.root)
            self.targets.extend(config_targets(self.configurations.values()))
            if self.search.is_wide:
                names = (name.rpartition(".") for name in config_names(self.configurations.values()))
                homes = ((self.find(package, module), package, name) for package, _, name in names)
                self.targets += [f"{path}.{name}" for home, path, name in homes if home and name in home.unit.bindings]
            for dotted in self.targets:
                self._load_dotted(dotted, module)

    def _is_script(self, word: str) -> bool:
        return word.endswith(".py") and os.path.isfile(self.root / word)

    def _load_named(self) -> None:
        """Load what texts of the program name: ``make(class_name="training.loss.Loss")``, ``load("kit.work")``."""
        for module in [module for module in self.loaded() if module not in self._looked_at]:
            self._looked_at.add(module)
            for dotted in dict.fromkeys(name for line in module.lines for name in DOTTED_TEXT.findall(line)):
                package, _, name = dotted.rpartition(".")
                home = self.find(package, module)
                if home is not None and name in home.unit.bindings:
                    self.targets.append(dotted)
                elif (named := self.find(dotted, module)) is not None and named not in self.plugins:
                    self.plugins.append(named)

    def _load_files_named(self) -> None:
        """Load the files whose paths stand in texts of a program that loads files: ``"./cores/plain.py"``."""
        modules = list(self.loaded())
        texts = (
            text for module in modules[self._searched :] for line in module.lines for text in _FILE_TEXT.findall(line)
        )
        self._searched = len(modules)
        self._load_plugins([self.root / text for text in dict.fromkeys(texts) if self._is_script(text)])

    def _load_executed(self, text: ast.expr, scope: Scope, module: ModuleIndex) -> None:
        """Load what a text imports that the program executes: ``exec(f"from models.{name} import {name}")``."""
        binding = only_binding(text.id, scope) if isinstance(text, ast.Name) else None
        text = binding.value if binding is not None and binding.value is not None else text
        keyword, _, start = constant_start(text).partition(" ")
        package = start.rpartition(".")[0]
        if keyword in {"from", "import"} and package:
            for folder in self.search.folders:
                at = folder.joinpath(*package.split("."))
                for inner in (at, *[path for path in globbed(at, "*") if os.path.isdir(path)][:MAX_PLUGIN_FILES]):
                    self._load_folder(inner)

    def _load_pattern(self, name: ast.expr, module: ModuleIndex) -> None:
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            self._load_dotted(name.value, module)
            return
        if pattern := constant_ends(name):
            for folder in self.search.folders:
                self._load_plugins(globbed(folder, f"{pattern}.py") + globbed(folder, f"{pattern}/__init__.py"))
            return
        if count := open_parts(name):
            listed = (path for folder in self.search.folders for path in globbed(folder, "/".join("*" * count) + ".py"))
            self._load_plugins([path for path in listed if self._words >= set(path.with_suffix("").parts[-count:])])
            return
        prefix = constant_start(name)
        package = prefix.rpartition(".")[0].lstrip(".")
        dots = len(prefix) - len(prefix.lstrip("."))
        if package and dots:
            home = (self.root / module.file).parents[dots - 1]
            self._load_folder(home.joinpath(*package.split(".")))
        elif package:
            for folder in self.search.folders:
                self._load_folder(folder.joinpath(*package.split(".")))
        elif prefix.startswith(".") or _lists_own_folder(module):
            self._load_folder((self.root / module.file).parent)

    def _load_defaults(self, name: ast.expr, module: ModuleIndex) -> None:
        """Load the modules that options are called by default: ``import_module(args.model)``."""
        if constant_start(name) or not isinstance(name, ast.Attribute):
            return
        for call in (site.node for unit in module.units for site in unit.calls):
            given = [key.value for key in call.keywords if key.arg == "default"]
            given += call.args[1:2] if called_name(call).startswith("DEFINE_") else []
            for default in given:
                named = default.value if isinstance(default, ast.Constant) else None
                found = self.find(named, module) if isinstance(named, str) and named.strip(".") else None
                if found is not None and found not in self.plugins:
                    self.plugins.append(found)

    def _load_folder(self, folder: Path) -> None:
        """Load the modules of a folder as plug-ins."""
        self._load_plugins(globbed(folder, "*.py"))

    def _load_plugins(self, paths: Sequence[Path]) -> None:
        """Load modules that the program chooses among while it runs."""
        named = sorted(paths, key=lambda path: -len({path.stem, path.parent.name} & self._words))
        for path in named[:MAX_PLUGIN_FILES]:
            module = self.load(path)
            if module is not None and module not in self.plugins:
                self.plugins.append(module)


def _assigned(node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return what a name is assigned, an expression that is no name as it is."""
    bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    values = [each.value for each in bindings if each.kind == "assign" and each.value is not None and not each.path]
    return values or [node]


def _lists_own_folder(module: ModuleIndex) -> bool:
    """Whether a module looks for files beside itself: ``pkgutil.iter_modules(__path__)``, ``glob`` at ``__file__``."""
    names = {node.id for unit in module.units for node, _, _ in unit.loads if isinstance(node, ast.Name)}
    calls = {called_name(site.node) for unit in module.units for site in unit.calls}
    return "__path__" in names or ("__file__" in names and bool(calls & {"listdir", "glob", "scandir", "iterdir"}))


# The packages that a program imports before it does anything else.

#: Statements that do nothing when a module is imported but bind names.
_BINDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _DoesMore(Exception):  # noqa: N818
    """The program does more than to import."""


def leading_packages(entry: Path, folders: Sequence[Path], wanted: Collection[str]) -> list[str]:
    r"""Return those of the `wanted` packages that a program imports first of all, in its order.

    Modules of the program's own, which lie in one of `folders`, are followed. Where the program does anything but
    import and define, what it imports later is left out: it may depend on what was done, as on a variable of the
    environment. Packages that are not wanted are passed over.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     entry = pathlib.Path(folder, "train.py")
    ...     _ = entry.write_text("import os, torch\nos.environ['A'] = '1'\nimport numpy\n")
    ...     leading_packages(entry, [entry.parent], {"torch", "numpy"})
    ['torch']
    """
    packages: list[str] = []
    try:
        for name in _imports(entry, folders, set()):
            if name in wanted and name not in packages:
                packages.append(name)
    except _DoesMore:
        pass
    return packages


def _imports(path: Path, folders: Sequence[Path], seen: set[Path]) -> Iterator[str]:
    """Yield the first names of what a module imports, and of what its own modules do."""
    seen.add(path)
    try:
        body = read_source(path).tree.body
    except UnreadableSourceError:
        raise _DoesMore from None
    for statement in body:
        for dotted in _names(statement):
            own = next((found for folder in folders for found in _files(folder, dotted)), None)
            if own is None:
                yield dotted.partition(".")[0]
            elif own not in seen:
                yield from _imports(own, folders, seen)


def _names(statement: ast.stmt) -> list[str]:
    """Return the dotted names that a statement imports, none for one that only binds names."""
    match statement:
        case ast.Import(names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
        case ast.Expr(ast.Constant()) | ast.Assign([ast.Name()], ast.Constant()):
            return []
    if isinstance(statement, _BINDING) and not statement.decorator_list:
        return []
    raise _DoesMore


def _files(folder: Path, dotted: str) -> Iterator[Path]:
    below = folder.joinpath(*dotted.split("."))
    yield from (path for path in (below.with_suffix(".py"), below / "__init__.py") if os.path.isfile(path))
