"""Import the overlay's files where an import leads to the original project (editable installs, absolute paths).

Modules outside the project that were not read and draw are noted.
"""

import os
import re
import sys

from .libraries import is_library_file

OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: Deviate's own files in a project.
WORKSPACE = ".deviate"


class Redirect:
    """Maps paths under the original project to the overlay."""

    def __init__(self, config):
        original, overlay = config.get("original"), config.get("overlay")
        self.active = bool(original and overlay)
        if not self.active:
            return
        self.overlay = os.path.abspath(overlay)
        self.originals = sorted({os.path.abspath(original), os.path.realpath(original)})
        kept = [overlay, OWN_FOLDER, *config.get("kept", ())]
        kept += [os.path.join(root, WORKSPACE) for root in self.originals]
        self.kept = sorted({form(path) for path in kept for form in (os.path.abspath, os.path.realpath)})
        #: Folders of the project, of its copy and of Deviate, as written and as real paths.
        own = (self.overlay, OWN_FOLDER)
        self.own = [*self.originals, *own, *map(os.path.realpath, own)]
        self.outside = Outside(config)
        #: Search paths of packages that have no part in the original: a library imports thousands of modules from them.
        self.foreign = set()

    def map_paths(self):
        """Map the entries of `sys.path`, among them those that .pth files of editable installs put there."""
        if self.active:
            sys.path[:] = [self.mapped(entry) or entry for entry in sys.path]

    def may_concern(self, path):
        """Tell whether an import may lead into the original: a top-level module, or a package that lies in it."""
        if not self.active:
            return False
        if path is None:
            return True
        try:
            entries = tuple(path)
            if entries not in self.foreign:
                if any(map(self.counterpart, entries)):
                    return any(map(self.mapped, entries)) or self.outside.may_concern(entries)
                self.foreign.add(entries)
            return self.outside.may_concern(entries)
        except TypeError:
            return False

    def mapped(self, path):
        """Return the overlay's form of `path` if that exists, None for a path that is not redirected."""
        mapped = self.counterpart(path)
        return mapped if mapped is not None and os.path.exists(mapped) else None

    def counterpart(self, path):
        """Return what `path` is called in the overlay, whether or not it is there; None where it is not redirected."""
        if not isinstance(path, str) or not os.path.isabs(path):
            return None
        for root in self.originals:
            if is_under(path, root):
                if any(is_under(path, kept) for kept in self.kept):
                    return None
                return self.overlay + path[len(root) :]
        return None

    def is_own(self, path):
        """Tell whether a real path lies in the project, in its copy, or belongs to Deviate."""
        return any(is_under(path, folder) for folder in self.own)

    def apply(self, spec):
        """Return `spec`, or the one for the same module in the overlay."""
        locations = spec.submodule_search_locations
        if not self.active:
            return spec
        origin = self.mapped(spec.origin) if spec.has_location else None
        if origin is None:
            if locations is not None and not spec.has_location:
                spec.submodule_search_locations = self.map_namespace(locations)
            return spec
        from importlib.util import spec_from_file_location

        inner = None if locations is None else [self.mapped(folder) or folder for folder in locations]
        return spec_from_file_location(spec.name, origin, submodule_search_locations=inner) or spec

    def map_namespace(self, locations):
        """Map the folders of a namespace package; one that has none to map keeps its live list."""
        folders = list(locations)
        moved = [self.mapped(folder) or folder for folder in folders]
        return locations if moved == folders else moved


def is_under(path, root):
    """Tell whether `path` is `root` or lies below it."""
    return path.startswith(root) and path[len(root) : len(root) + 1] in ("", os.sep)


#: Text that draws random numbers.
DRAWS = re.compile(
    rb"\b(random|rng|np|numpy|torch|tf|jax|jr)\.([a-z_]+\.)*"
    rb"(rand\w*|normal|uniform|shuffle|choices?|sample|permutation|default_rng|gauss|binomial|multinomial|poisson)\("
    rb"|\.(normal_|uniform_|bernoulli_|random_)\(|\bimport random\b|\bfrom random import\b"
)


class Outside:
    """Files outside the project that its imports lead to."""

    def __init__(self, config):
        self.read = set(config.get("read") or ())
        #: Folders of packages outside the project.
        self.folders = {os.path.dirname(path) for path in self.read}
        #: Real paths by path.
        self.known = {}
        #: Whether libraries are installed in a folder, by folder.
        self.libraries = {}

    def may_concern(self, path):
        """Tell whether a package with this search path lies outside the project."""
        return bool(self.folders) and any(self.real(entry) in self.folders for entry in path)

    def real(self, path):
        """Return the real path of a folder, which costs a look at each folder above it once."""
        if path not in self.known:
            self.known[path] = os.path.realpath(path)
        return self.known[path]

    def is_installed(self, spec, path):
        """Tell whether a module's file lies where libraries are installed: ``pip install --target``."""
        levels = spec.name.count(".") + (1 if spec.submodule_search_locations is None else 2)
        for _ in range(levels):
            path = os.path.dirname(path)
        if path not in self.libraries:
            self.libraries[path] = any(name.endswith(".dist-info") for name in os.listdir(path))
        return self.libraries[path]

    def look(self, spec, redirect, process):
        """Note, once, a module outside the project that was not read and draws."""
        origin = spec.origin
        try:
            for folder in map(self.real, spec.submodule_search_locations or ()):
                if not is_library_file(os.path.join(folder, "")) and not redirect.is_own(folder):
                    self.folders.add(folder)
            if not spec.has_location or not isinstance(origin, str) or not origin.endswith(".py"):
                return
            folder, name = os.path.split(origin)
            path = os.path.join(self.real(folder), name)
            if os.path.islink(path):
                path = os.path.realpath(path)
            if is_library_file(path) or path in self.read or redirect.is_own(path) or self.is_installed(spec, path):
                return
            with open(path, "rb") as file:
                draws = DRAWS.search(file.read()) is not None
        except (OSError, ValueError, TypeError):
            return
        if draws:
            message = (
                "random numbers can be drawn in %s, which lies outside the project and was not read: "
                "they are of the factor that draws around them, else of other" % path
            )
            process.events.note("draws-outside", message, path)
