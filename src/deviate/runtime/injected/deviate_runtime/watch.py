"""Call hooks after the import of a module, and import the files of the run's copy instead of the original's.

Import the overlay's files where an import leads to the original project (editable installs, absolute paths).

Modules outside the project that were not read and draw are noted.
"""

import os
import re
import sys

from .factors import OTHER
from .frameworks import every
from .patching import is_installed, is_library_file

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
            if is_library_file(path) or path in self.read or redirect.is_own(path) or is_installed(path):
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


PRIVATE = frozenset(every("private"))

#: Objects that a frame has room for; with the 1,000 that the interpreter adds, just too many for a block of 64 KiB.
STACK_SLOTS = 7200


def install(process):
    """Watch imports; the hooks of a module that is loaded already are called at once."""
    hooks = wanted_hooks(process)
    redirect = Redirect(process.config)
    redirect.map_paths()
    sys.meta_path.insert(0, Finder(hooks, redirect, process))
    for name in list(hooks):
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            call_hooks(module, hooks[name], process)


def redirect(config):
    """Import from the copy of another run from now on."""
    for finder in sys.meta_path:
        if isinstance(finder, Finder):
            finder.redirect = Redirect(config)
            finder.redirect.map_paths()


def wanted_hooks(process):
    """Return the functions to call, by the module after whose import they are called."""
    hooks = {"_posixsubprocess": ["children:watch_processes"]}
    switched = process.config.get("threads") or process.config.get("hold_impl")
    wanted = {
        "streams": process.streams is not None,
        "switches": switched,
        "trainers": True,
        "predictions": process.predictions is not None,
        "given": True,
        "compilers": True,
    }
    for module, target in every("hooks"):
        if wanted[target.partition(".")[0].partition(":")[0]]:
            hooks.setdefault(module, []).append(target)
    for field, target in (
        ("boundaries", "streams.callers:patch_rows"),
        ("epochs", "trainers:observe_rows"),
        ("switches", "switches:set_rows"),
    ):
        for row in every(field):
            if wanted[target.partition(".")[0].partition(":")[0]] and target not in hooks.setdefault(row[0], []):
                hooks[row[0]].append(target)
    for name in awaited(process):
        hooks.setdefault(name, []).append("opened:imported")
    if os.environ.get("DEVIATE_FIXED"):
        from .fixing import hooks as fixing_hooks

        for module, target in fixing_hooks():
            hooks.setdefault(module, []).append(target)
    if os.environ.get("DEVIATE_KERNELS"):
        hooks.setdefault("torch", []).append("kernels:watch")
    if process.diverging is not None:
        for module, target in process.diverging.hooks():
            hooks.setdefault(module, []).insert(0, target)
    return hooks


def awaited(process):
    """Return the names of modules after whose imports files are watched."""
    return (process.opened and process.opened.imports) or ()


class Finder:
    """Stands before the other finders, calls them, and changes what they return only for modules that have hooks."""

    def __init__(self, hooks, redirect, process):
        self.hooks = hooks
        #: First names of the libraries that have boundaries of their own.
        self.known = {name.partition(".")[0] for name in hooks}
        self.redirect = redirect
        self.process = process

    def find_spec(self, name, path=None, target=None):
        """Return where `name` is imported from, None to leave it to the other finders."""
        hooks = self.hooks.get(name, ())
        apart = is_apart(name, self.process.streams)
        if not hooks and not apart and not self.redirect.may_concern(path):
            return None
        spec = self.ask_others(name, path, target)
        if spec is None:
            return None
        spec = self.redirect.apply(spec)
        if self.redirect.active and name.partition(".")[0] not in self.known:
            self.redirect.outside.look(spec, self.redirect, self.process)
        if hooks or apart:
            is_watched = call_after_import(spec, hooks, self.process)
            if name in awaited(self.process):
                self.process.opened.before_import(spec, is_watched)
        return spec

    def ask_others(self, name, path, target):
        """Return the answer of the first of the other finders that knows `name`."""
        for finder in sys.meta_path:
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def call_after_import(spec, hooks, process):
    """Have `hooks` called once the module of `spec` is complete; the loader stays what it is otherwise.

    Return whether they will be.
    """
    loader = spec.loader
    if loader is None or isinstance(loader, type) or not hasattr(loader, "exec_module"):
        return False
    execute = loader.exec_module

    @roomy
    def exec_module(module):
        if module.__name__ != spec.name:
            return execute(module)  # a loader shared by the modules of a zip file
        loader.__dict__.pop("exec_module", None)
        with_streams = process.streams if is_apart(spec.name, process.streams) else None
        before = None if with_streams is None else with_streams.enter_import(is_library_file(spec.origin or ""))
        lines = process.diverging.lines if hooks and process.diverging is not None else None
        is_traced = lines is not None and lines.rest()
        try:
            execute(module)
            return call_hooks(module, hooks, process)
        finally:
            if is_traced:
                lines.go_on()
            if with_streams is not None:
                with_streams.leave_import(before)

    try:
        loader.exec_module = exec_module
        return True
    except AttributeError as error:
        if hooks:
            process.events.note("import-unwatched", "%s: %s" % (spec.name, error), spec.name)
        return False


def roomy(function):
    """Have what a function calls lie in a block of its own on the interpreter's stack; return the function.

    From Python 3.11 on frames lie in blocks of 16 KiB. A call that finds its block full maps another one, and unmaps it
    on return. One frame more may move that border to where a library makes tens of thousands of calls as it is
    imported, which costs half a second with TensorFlow. A frame that does not fit gets a block of 128 KiB, of which
    more than half is left for the frames that follow.
    """
    if sys.version_info >= (3, 11):
        function.__code__ = function.__code__.replace(co_stacksize=STACK_SLOTS)
    return function


def is_apart(name, streams):
    """Tell whether a module is imported in the midst of a boundary, which it does not draw for, or draws for itself."""
    if streams is None or (streams.current == OTHER and name not in PRIVATE):
        return False
    return streams.is_first_thread()


def call_hooks(module, hooks, process):
    """Call each hook, ``file:function``, with the module and what its package works on."""
    for target in hooks:
        try:
            file, _, function = target.partition(":")
            part = __package__ + "." + file
            __import__(part)
            works_on = process.streams if file.startswith("streams.") else process
            getattr(sys.modules[part], function)(module, works_on)
        except Exception as error:
            process.events.note("library-unattended", "%s: %r" % (module.__name__, error), (module.__name__, target))
