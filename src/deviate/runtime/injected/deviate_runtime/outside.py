"""Modules outside the project that were not read and draw are noted."""

import os
import re

from .libraries import is_library_file

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

    def may_concern(self, path):
        """Tell whether a package with this search path lies outside the project."""
        return bool(self.folders) and any(self.real(entry) in self.folders for entry in path)

    def real(self, path):
        """Return the real path of a folder, which costs a look at each folder above it once."""
        if path not in self.known:
            self.known[path] = os.path.realpath(path)
        return self.known[path]

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
            if is_library_file(path) or path in self.read or redirect.is_own(path):
                return
            with open(path, "rb") as file:
                draws = DRAWS.search(file.read()) is not None
        except (OSError, ValueError, TypeError):
            return
        if draws:
            message = (
                "random numbers drawn in %s, which lies outside the project and was not read: "
                "they are of the factor that draws around them, else of other" % path
            )
            process.events.note("draws-outside", message, path)
