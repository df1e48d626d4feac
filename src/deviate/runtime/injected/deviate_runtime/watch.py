"""Do something after a module is imported, and import the overlay's files instead of the original's."""

import sys

from . import frameworks, streams
from .redirect import Redirect

SWITCHED = ("torch", "torch._inductor.config", "tensorflow")


def install(process):
    """Watch imports; what is loaded already is attended to at once."""
    watched = {}
    wanted = streams.attentions(process) + frameworks.attentions(process)
    if process.config.get("threads") or process.config.get("hold_impl"):
        wanted += [(name, __package__ + ".switches", process) for name in SWITCHED]
    for name, part, argument in wanted:
        watched.setdefault(name, []).append((part, argument))
    redirect = Redirect(process.config)
    redirect.map_paths()
    sys.meta_path.insert(0, Finder(watched, redirect, process.events))
    for name in list(watched):
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            attend_to(module, watched[name], process.events)


class Finder:
    """Stands before the other finders; asks them, and looks at what they found only where it has to."""

    def __init__(self, watched, redirect, events):
        self.watched = watched
        self.redirect = redirect
        self.events = events

    def find_spec(self, name, path=None, target=None):
        """Return where `name` is imported from, None to leave it to the other finders."""
        attentions = self.watched.get(name)
        if attentions is None and not self.redirect.may_concern(path):
            return None
        spec = self.ask_others(name, path, target)
        if spec is None:
            return None
        spec = self.redirect.apply(spec)
        if attentions is not None:
            attend_after_import(spec, attentions, self.events)
        return spec

    def ask_others(self, name, path, target):
        """Return what the first of the other finders that knows `name` says."""
        for finder in sys.meta_path:
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def attend_after_import(spec, attentions, events):
    """Have `attentions` called once the module of `spec` is complete; the loader stays what it is otherwise."""
    loader = spec.loader
    if loader is None or isinstance(loader, type) or not hasattr(loader, "exec_module"):
        return
    execute = loader.exec_module

    def exec_module(module):
        if module.__name__ != spec.name:
            return execute(module)  # a loader shared by the modules of a zip file
        loader.__dict__.pop("exec_module", None)
        execute(module)
        return attend_to(module, attentions, events)

    try:
        loader.exec_module = exec_module
    except AttributeError as error:
        events.note("import-unwatched", "%s: %s" % (spec.name, error), spec.name)


def attend_to(module, attentions, events):
    """Have each part do with `module` what it does; `attentions` are pairs of a part's name and its argument."""
    for part, argument in attentions:
        try:
            __import__(part)
            sys.modules[part].attend(module, argument)
        except Exception as error:
            events.note("library-unattended", "%s: %r" % (module.__name__, error), (module.__name__, part))
