"""Where modules are looked for: the folders of a program's search path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from deviate.core.paths import globbed
from deviate.source.files import exported_folders

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
