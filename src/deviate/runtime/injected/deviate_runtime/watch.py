"""Call hooks after the import of a module, and import the files of the run's copy instead of the original's."""

import os
import sys

from .factors import OTHER
from .frameworks import every
from .libraries import is_library_file
from .redirect import Redirect

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
        ("boundaries", "streams.boundaries:patch_rows"),
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
        try:
            execute(module)
            return call_hooks(module, hooks, process)
        finally:
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
