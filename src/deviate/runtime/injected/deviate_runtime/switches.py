"""Set the determinism switches of the frameworks and the number of threads, where the implementation is held fixed.

Environment variables that must be there before a process starts (``CUBLAS_WORKSPACE_CONFIG``) are set by who starts it.
TF32 stays as the program has it: it changes the values, not their repetition. Deterministic kernels of PyTorch are held
against the program.
"""

import functools
import re
import sys
import warnings

from .frameworks import CALL, every
from .patching import replaces


def write_switch(process, name, value):
    """Write down that a switch was set."""
    process.events.write({"event": "switch", "name": name, "value": value})


def set_rows(module, process):
    """Set the switches of `module` that the table of switches has; a version that lacks an attribute stays as it is."""
    if not process.config.get("hold_impl"):
        return
    for name, path, value in every("switches"):
        if name != module.__name__:
            continue
        *owners, attribute = path.split(".")
        target = functools.reduce(getattr, owners, module)
        if value == CALL:
            getattr(target, attribute)()
            write_switch(process, "%s.%s" % (name, path), True)
        elif hasattr(target, attribute):
            setattr(target, attribute, value)
            write_switch(process, "%s.%s" % (name, path), value)


#: How torch warns of an operation that it cannot do deterministically.
WARNING = " does not have a deterministic implementation"


def set_threads(torch, process):
    """Give torch the threads that the run was given."""
    threads = process.config.get("threads")
    if process.is_warm:
        # It starts threads, which no forked child has.
        process.left_to_children.append(lambda: set_threads(torch, process))
    elif threads:
        torch.set_num_threads(threads)
        write_switch(process, "torch.set_num_threads", threads)


def hold_torch(torch, process):
    """Set every determinism switch of torch, and keep the program from taking one back."""
    plain = getattr(torch, "use_deterministic_algorithms", None)
    if not process.config.get("hold_impl") or plain is None or hasattr(plain, "_deviate"):
        return
    strict = bool(process.config.get("strict"))
    set_deterministic(torch, plain, strict)
    write_switch(process, "torch.use_deterministic_algorithms", "strict" if strict else "warn_only")
    keep_deterministic(torch, plain, process)
    if not strict:
        collect_warnings(process)
    deterministic = getattr(getattr(torch, "utils", None), "deterministic", None)
    if hasattr(deterministic, "fill_uninitialized_memory"):
        # Filled memory would change what a program that reads it unset computes; left as it is, such a read shows up.
        deterministic.fill_uninitialized_memory = False
        write_switch(process, "torch.utils.deterministic.fill_uninitialized_memory", False)
    hold_flags(torch, "cudnn", (("deterministic", True), ("benchmark", False)), process)
    hold_flags(torch, "mkldnn", (("deterministic", True),), process)


def set_deterministic(torch, plain, strict):
    """Ask torch for deterministic operations.

    Its own function imports the compiler, which takes seconds, to set a switch that is set once the compiler is
    imported (see `deviate_runtime.frameworks`).
    """
    bare = getattr(torch._C, "_set_deterministic_algorithms", None)
    if "torch._inductor" not in sys.modules and bare is not None:
        try:
            bare(True, warn_only=not strict)
            return
        except TypeError:
            pass
    try:
        # Operations without a deterministic form warn: to stop there would end most trainings of vision models.
        plain(True, warn_only=not strict)
    except TypeError:
        # torch before 1.11 can only raise
        if strict:
            plain(True)


def keep_deterministic(torch, plain, process):
    """Ignore calls by which the program selects other than deterministic algorithms."""
    held = "held against the program"

    @replaces(torch, "use_deterministic_algorithms")
    def use_deterministic_algorithms(mode, **kwargs):
        if mode:
            return plain(mode, **kwargs)
        return write_switch(process, "torch.use_deterministic_algorithms", held)

    plain_mode = getattr(torch, "set_deterministic_debug_mode", None)
    if plain_mode is None:
        return

    @replaces(torch, "set_deterministic_debug_mode")
    def set_deterministic_debug_mode(debug_mode):
        if debug_mode in (0, "default"):
            return write_switch(process, "torch.set_deterministic_debug_mode", held)
        return plain_mode(debug_mode)


def collect_warnings(process):
    """Write down which operations have no deterministic form, instead of what torch warns of them."""
    plain = warnings._showwarnmsg
    operations = set()

    def show(message):
        text = str(message.message)
        if WARNING not in text:
            return plain(message)
        operation = text.partition(WARNING)[0]
        if operation not in operations:
            operations.add(operation)
            process.events.write({"event": "nondeterministic", "operation": operation})
        return None

    warnings._showwarnmsg = show
    keep_warnings_visible()


def keep_warnings_visible():
    """Keep torch's warnings ahead of the program's filters, which would hide them or make errors of them.

    Without Deviate torch would not warn, so the filters that the program sets have the effect that they always have.
    """
    plain = warnings.filterwarnings

    def filter_first():
        plain("default", message=".*" + re.escape(WARNING))

    def refiltering(change):
        @functools.wraps(change)
        def changed(*args, **kwargs):
            result = change(*args, **kwargs)
            filter_first()
            return result

        return changed

    for name in ("filterwarnings", "simplefilter", "resetwarnings"):
        setattr(warnings, name, refiltering(getattr(warnings, name)))
    filter_first()


def hold_flags(torch, backend, flags, process):
    """Set flags of a backend for good: as its attributes, and by the functions that its context managers call."""
    module = getattr(torch.backends, backend, None)
    for flag, value in flags:
        name = "torch.backends.%s.%s" % (backend, flag)
        if not hasattr(module, flag):
            continue
        try:
            setattr(module, flag, value)
        except Exception as error:
            process.events.note("switch-unset", "%s: %r" % (name, error), name)
            continue
        held = Held(name, value, process)
        setattr(type(module), flag, held)
        function = "_set_%s_%s" % (backend, flag)
        if hasattr(torch._C, function):
            setattr(torch._C, function, held.ignore)
        write_switch(process, name, value)


class Held:
    """An attribute that keeps its value against the program."""

    def __init__(self, name, value, process):
        self.name = name
        self.value = value
        self.process = process

    def __get__(self, instance, owner=None):
        return self.value

    def __set__(self, instance, value):
        self.ignore(value)

    def ignore(self, value):
        """Note, once, that the program sets another value."""
        if value != self.value:
            self.process.events.note("switch-held", "%s stays %r" % (self.name, self.value), self.name)
