"""Child processes: each draws its own random numbers, the same in every run of the same seeds."""

from ..patching import replaces


def patch_process(module, streams):
    """Identify the children of `multiprocessing` by their number, which is the same in every run."""
    plain = module.BaseProcess._bootstrap
    if hasattr(plain, "__wrapped__"):
        return

    @replaces(module.BaseProcess, "_bootstrap")
    def _bootstrap(self, *args, **kwargs):
        begin(self, streams)
        try:
            return plain(self, *args, **kwargs)
        finally:
            end(streams)


def begin(child, streams):
    """Give a child draws of its own; what it inherited by a fork it goes on with, as without Deviate."""
    try:
        streams.enter_child(*child._identity)
        if streams.controls:
            for generator in streams.generators:
                generator.restart_in_child(streams.process.forked)
    except Exception as error:
        streams.process.events.note("library-unattended", "multiprocessing: %r" % (error,), "multiprocessing")


def end(streams):
    """Write what was drawn: the interpreter of a child may end without its last functions being called."""
    try:
        if streams.process.events.begun or streams.fingerprints.factors:
            streams.fingerprints.end_of_child()
    except Exception as error:
        streams.process.events.note("fingerprint-missing", repr(error), "child")
