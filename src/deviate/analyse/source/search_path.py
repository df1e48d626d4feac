"""Where modules are looked for: the folders of a program's search path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

#: Folders that libraries are installed in; the runtime knows what those libraries draw for.
LIBRARY_FOLDERS = {"site-packages", "dist-packages"}
#: Libraries that are not read, even where they are installed to be edited: the runtime has boundaries for them, or
#: they are too large. `deviate.frameworks` has other packages: those that need a setting before a training starts.
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

    `folders` are what else is on the module search path: modules are read from them wherever they lie.
    """

    def __init__(self, root: Path, entry: Path, folders: Sequence[Path] = ()) -> None:
        self.root = root
        self.folders: list[Path] = [entry.parent]
        self._packages: dict[str, str] = {}
        self._exists: dict[Path, bool] = {}
        self.add([root, root / "src"])
        self.add(folders, anywhere=True)

    def add(self, folders: Iterable[Path], anywhere: bool = False) -> bool:
        """Look also in these folders, only within the project unless `anywhere`; return whether any is new."""
        count = len(self.folders)
        for folder in folders:
            clean = _normal(folder)
            may_be_read = self.holds(clean) or (anywhere and not LIBRARY_FOLDERS & set(clean.parts))
            if clean not in self.folders and may_be_read and clean.is_dir():
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
        is_library = file is not None and not self.holds(file) and name.partition(".")[0] in LIBRARIES
        return None if is_library else file

    def _module_file(self, folder: Path, dotted: str) -> Path | None:
        at = folder.joinpath(*dotted.split(".")) if dotted else folder
        for path in (at.with_name(at.name + ".py") if dotted else at / "__init__.py", at / "__init__.py"):
            if self._is_file(path):
                return path
        return None

    def _is_file(self, path: Path) -> bool:
        if path not in self._exists:
            try:
                self._exists[path] = path.is_file()
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
        return bool(dots) or any((folder / parts[0]).is_dir() for folder in self.folders)


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
