"""Ask the frameworks for deterministic kernels (when the implementation is held fixed), and set the threads of torch.

Environment variables that must be there before a process starts (``CUBLAS_WORKSPACE_CONFIG``) are set by who starts it.
TF32 stays as the program has it: it changes the values, not their repetition.
"""

import functools
import re
import sys
import warnings

#: What torch says of an operation that it was asked to do deterministically and cannot.
WARNING = " does not have a deterministic implementation"


def attend(module, process):
    """Do to `module` what was asked for."""
    name = module.__name__
    if name == "torch" and process.config.get("threads"):
        set_threads(module, process)
    if not process.config.get("hold_impl"):
        return
    if name == "torch":
        hold_torch(module, process)
    if name == "torch._inductor.config":
        hold_inductor(module, process)
    if name == "tensorflow":
        hold_tensorflow(module, process)


def say(process, name, value):
    """Write down that a switch was set."""
    process.events.write({"event": "switch", "name": name, "value": value})


def set_threads(torch, process):
    """Give torch the threads that the run was given."""
    torch.set_num_threads(process.config["threads"])
    say(process, "torch.set_num_threads", process.config["threads"])


# PyTorch


def hold_torch(torch, process):
    """Set every determinism switch of torch, and keep the program from taking one back."""
    plain = getattr(torch, "use_deterministic_algorithms", None)
    if plain is None or hasattr(plain, "_deviate"):
        return
    strict = bool(process.config.get("strict"))
    ask(torch, plain, strict)
    say(process, "torch.use_deterministic_algorithms", "strict" if strict else "warn_only")
    keep_deterministic(torch, plain, process)
    if not strict:
        collect_warnings(process)
    deterministic = getattr(getattr(torch, "utils", None), "deterministic", None)
    if hasattr(deterministic, "fill_uninitialized_memory"):
        # Filled memory would change what a program that reads it unset computes; left as it is, such a read shows up.
        deterministic.fill_uninitialized_memory = False
        say(process, "torch.utils.deterministic.fill_uninitialized_memory", False)
    hold_flags(
        torch, torch.backends.cudnn, "torch.backends.cudnn.", (("deterministic", True), ("benchmark", False)), process
    )
    hold_flags(
        torch, getattr(torch.backends, "mkldnn", None), "torch.backends.mkldnn.", (("deterministic", True),), process
    )


def ask(torch, plain, strict):
    """Ask torch for deterministic operations.

    Its own function imports the compiler, which takes seconds, to set a switch that `hold_inductor` sets if it comes.
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
    """Ignore that the program asks for other than deterministic algorithms."""
    held = "held against the program"

    @functools.wraps(plain)
    def use_deterministic_algorithms(mode, **kwargs):
        if mode:
            return plain(mode, **kwargs)
        return say(process, "torch.use_deterministic_algorithms", held)

    use_deterministic_algorithms._deviate = True
    torch.use_deterministic_algorithms = use_deterministic_algorithms
    plain_mode = getattr(torch, "set_deterministic_debug_mode", None)
    if plain_mode is None:
        return

    @functools.wraps(plain_mode)
    def set_deterministic_debug_mode(debug_mode):
        if debug_mode in (0, "default"):
            return say(process, "torch.set_deterministic_debug_mode", held)
        return plain_mode(debug_mode)

    torch.set_deterministic_debug_mode = set_deterministic_debug_mode


def collect_warnings(process):
    """Write down which operations have no deterministic form, instead of what torch warns of them."""
    plain = warnings._showwarnmsg
    said = set()

    def show(message):
        text = str(message.message)
        if WARNING not in text:
            return plain(message)
        operation = text.partition(WARNING)[0]
        if operation not in said:
            said.add(operation)
            process.events.write({"event": "nondeterministic", "operation": operation})
        return None

    warnings._showwarnmsg = show
    hear_first()


def hear_first():
    """Keep what torch warns of ahead of the program's filters, which would hide it, or make an error of it.

    Without Deviate torch would not warn: nothing that the program asks to be told, or not to be told, is changed.
    """
    plain = warnings.filterwarnings

    def put_first():
        plain("default", message=".*" + re.escape(WARNING))

    def followed(change):
        @functools.wraps(change)
        def changed(*args, **kwargs):
            result = change(*args, **kwargs)
            put_first()
            return result

        return changed

    for name in ("filterwarnings", "simplefilter", "resetwarnings"):
        setattr(warnings, name, followed(getattr(warnings, name)))
    put_first()


def hold_flags(torch, module, prefix, flags, process):
    """Set flags of a backend for good: as its attributes, and by the functions that its context managers call."""
    for name, value in flags:
        if not hasattr(module, name):
            continue
        try:
            setattr(module, name, value)
        except Exception as error:
            process.events.note("switch-unset", "%s%s: %r" % (prefix, name, error), prefix + name)
            continue
        held = Held(prefix + name, value, process)
        setattr(type(module), name, held)
        function = "_set_%s_%s" % (prefix.split(".")[-2], name)
        if hasattr(torch._C, function):
            setattr(torch._C, function, held.ignore)
        say(process, prefix + name, value)


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
        """Say, once, that the program asks for another value."""
        if value != self.value:
            self.process.events.note("switch-held", "%s stays %r" % (self.name, self.value), self.name)


def hold_inductor(config, process):
    """Keep ``torch.compile`` from choosing kernels by the time they take."""
    if hasattr(config, "deterministic"):
        config.deterministic = True
        say(process, "torch._inductor.config.deterministic", True)


def hold_tensorflow(tensorflow, process):
    """Ask TensorFlow for deterministic operations."""
    tensorflow.config.experimental.enable_op_determinism()
    say(process, "tensorflow.config.experimental.enable_op_determinism", True)
