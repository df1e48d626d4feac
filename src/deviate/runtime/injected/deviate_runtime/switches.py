"""Ask the frameworks for deterministic kernels (when the implementation is held fixed), and set the threads of torch.

Environment variables that must be there before a process starts (``CUBLAS_WORKSPACE_CONFIG``) are set by who starts it.
TF32 stays as the program has it: it changes the values, not their repetition.
"""

import functools


def attend(module, process):
    """Do to `module` what was asked for."""
    name = module.__name__
    if name == "torch" and process.config.get("threads"):
        set_threads(module, process)
    if name == "torch" and process.config.get("hold_impl"):
        hold_torch(module, process)
    if name == "tensorflow" and process.config.get("hold_impl"):
        hold_tensorflow(module, process)


def say(process, name, value):
    """Write down that a switch was set."""
    process.events.write({"event": "switch", "name": name, "value": value})


def set_threads(torch, process):
    """Give torch the threads that the run was given."""
    torch.set_num_threads(process.config["threads"])
    say(process, "torch.set_num_threads", process.config["threads"])


def hold_torch(torch, process):
    """Set every determinism switch of torch, and keep the program from taking one back."""
    plain = torch.use_deterministic_algorithms
    if hasattr(plain, "_deviate"):
        return
    # Operations without a deterministic form warn: to stop there would end most trainings of vision models.
    plain(True, warn_only=True)
    say(process, "torch.use_deterministic_algorithms", "warn_only")
    keep_deterministic(torch, plain, process)
    # Filled memory would change what a program that reads it unset computes; left as it is, such a read shows up.
    torch.utils.deterministic.fill_uninitialized_memory = False
    say(process, "torch.utils.deterministic.fill_uninitialized_memory", False)
    for name, value in (("deterministic", True), ("benchmark", False)):
        setattr(torch.backends.cudnn, name, value)
        setattr(type(torch.backends.cudnn), name, Held("torch.backends.cudnn." + name, value, process))
        say(process, "torch.backends.cudnn." + name, value)


def keep_deterministic(torch, plain, process):
    """Ignore that the program asks for other than deterministic algorithms."""

    @functools.wraps(plain)
    def use_deterministic_algorithms(mode, **kwargs):
        if mode:
            return plain(mode, **kwargs)
        return say(process, "torch.use_deterministic_algorithms", "held against the program")

    use_deterministic_algorithms._deviate = True
    torch.use_deterministic_algorithms = use_deterministic_algorithms


class Held:
    """An attribute that keeps its value against the program."""

    def __init__(self, name, value, process):
        self.name = name
        self.value = value
        self.process = process

    def __get__(self, instance, owner=None):
        return self.value

    def __set__(self, instance, value):
        if value != self.value:
            self.process.events.note("switch-held", "%s stays %r" % (self.name, self.value), self.name)


def hold_tensorflow(tensorflow, process):
    """Ask TensorFlow for deterministic operations."""
    tensorflow.config.experimental.enable_op_determinism()
    say(process, "tensorflow.config.experimental.enable_op_determinism", True)
