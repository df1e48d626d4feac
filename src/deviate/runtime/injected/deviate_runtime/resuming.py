"""End a training at an iteration of its main loop, and look at its state as an iteration begins: in trial runs only.

``DEVIATE_RESUME`` is a JSON object: at the beginning of the iterations in ``look`` the state is written as an event,
and at the beginning of iteration ``end`` the process gets SIGTERM, as from a scheduler.

In such runs each generator has one state, as it has without Deviate, and not one for each factor. What a program saves
of a generator, by whatever function or pickle, is then all that there is of it.
"""

import gc
import json
import os
import random
import signal
import sys
import types
import zlib

from .streams.generators import Generator
from .streams.torch.data import tensor_bytes

VARIABLE = "DEVIATE_RESUME"

HERE = os.path.dirname(os.path.abspath(__file__))

#: Nests and objects of the program are followed this far, and entries of a list are read up to this number.
DEEPEST = 6
OBJECTS = 2
MOST = 20000

#: By the names of classes, the first package of their modules before them, what an object is.
KINDS = {
    "torch.Optimizer": "optimizer",
    "torch.LRScheduler": "scheduler",
    "torch._LRScheduler": "scheduler",
    "torch.ReduceLROnPlateau": "scheduler",
    "torch.GradScaler": "scaler",
    "torch.AveragedModel": "average",
    "torch._BaseDataLoaderIter": "order",
    "torch.Module": "weights",
    "keras.Optimizer": "optimizer",
    "keras.BaseOptimizer": "optimizer",
    "keras.Model": "weights",
}

#: Of these, what is looked for in memory where no variable of the program leads to it.
FOUND = ("optimizer", "scheduler", "scaler", "average")

SCALARS = (bool, int, float, complex, str, bytes)


def begin(process):
    """Have the state looked at, and the program ended, as the variable says."""
    order = json.loads(os.environ[VARIABLE])
    if process.streams is not None:
        have_one_state(process.streams)
    recorder, looks, last = process.recorder, frozenset(order["look"]), order["end"]
    plain = recorder.tick

    def tick(item=None):
        plain(item)
        if process.iteration in looks:
            look(process)
        # Of several ranks the first one saves, so that the others end with it.
        if process.iteration == last and not process.rank:
            os.kill(os.getpid(), signal.SIGTERM)

    recorder.tick = tick


def have_one_state(streams):
    """Give generators one state for all factors."""
    streams.suspended = True
    Generator.hand_out = lambda self, token: None
    Generator.hand_back = lambda self, token, jump=False: False


def look(process):
    """Write the state of the program."""
    try:
        parts = list(generator_parts(process.streams)) + State(process).parts()
        process.events.write({"event": "state", "iteration": process.iteration, "parts": parts})
    except Exception as error:
        process.events.note("state-unread", repr(error), "state")


def generator_parts(streams):
    """Yield what each generator goes on with."""
    if streams is None:
        return
    for generator in streams.all_generators():
        yield ["generator", generator.name, {"": generator.mark(generator.live())}]


class State:
    """What the variables of the program's functions on the stack hold, and optimizers and the like beside them."""

    def __init__(self, process):
        self.callers = process.streams.callers if process.streams is not None else None
        self.kinds = {}
        self.seen = set()
        self.found = []
        self.optimizers = []

    def parts(self):
        """Return rows of a kind, a name and digests by the part of it."""
        for frame in program_frames(self.callers):
            for name, value in list(frame.f_locals.items()):
                if not name.startswith("__"):
                    self.add(name, value, 0)
        for value in gc.get_objects():
            if self.kind_of(type(value)) in FOUND and id(value) not in self.seen:
                self.add(type(value).__name__, value, 0)
        if not any(kind == "weights" for kind, _, _ in self.found):
            for optimizer in self.optimizers:
                self.add_weights(optimizer)
        return self.found

    def kind_of(self, cls):
        """Return what objects of a class are; None where that is not known."""
        if cls not in self.kinds:
            names = ["%s.%s" % (str(base.__module__).partition(".")[0], base.__name__) for base in cls.__mro__]
            self.kinds[cls] = next((KINDS[name] for name in names if name in KINDS), None)
        return self.kinds[cls]

    def add(self, name, value, depth):
        """Take in a variable, or an attribute."""
        if isinstance(value, (types.ModuleType, type, types.FunctionType, random.Random)) or id(value) in self.seen:
            return
        kind = self.kind_of(type(value))
        if kind is not None or not isinstance(value, SCALARS):
            self.seen.add(id(value))
        digests = {}
        if kind is not None:
            DIGESTED[kind](self, value, digests)
            self.found.append([kind, name, digests])
            if kind == "optimizer":
                self.optimizers.append(value)
        elif self.take(value, "", digests, 0):
            self.found.append(["variable", name, digests])
        elif depth < OBJECTS and self.is_programs(type(value)):
            for attribute, inner in list(vars(value).items()):
                self.add("%s.%s" % (name, attribute), inner, depth + 1)

    def add_weights(self, optimizer):
        """Take in what an optimizer trains."""
        digests = {}
        for group in getattr(optimizer, "param_groups", ()):
            self.take(list(group["params"]), "", digests, 0)
        self.take(list(getattr(optimizer, "_trainable_variables", ())), "", digests, 0)
        self.found.append(["weights", "of %s" % type(optimizer).__name__, digests])

    def is_programs(self, cls):
        """Tell whether a class is of the program."""
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None)
        if file is None or self.callers is None:
            return cls.__module__ == "__main__"
        return hasattr(cls, "__dict__") and self.callers.is_program_file(file, cls.__module__)

    def take(self, value, key, digests, depth):
        """Take plain data into the digests; tell whether it was some."""
        data = bytes_of(value)
        if data is not None:
            digests[key] = zlib.crc32(data, digests.get(key, 0))
            return True
        if depth > DEEPEST:
            return False
        if isinstance(value, dict):
            pairs = list(value.items())[:MOST]
            inner = [self.take(each, name_of(name, key), digests, depth + 1) for name, each in pairs]
        elif isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
            items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else list(value)[:MOST]
            inner = [self.take(each, key, digests, depth + 1) for each in items]
            digests[key] = zlib.crc32(b"%d" % len(items), digests.get(key, 0))
        else:
            return False
        return not inner or any(inner)

    def take_optimizer(self, value, digests):
        """Take in the state of an optimizer, by its names."""
        if not hasattr(value, "param_groups"):
            for variable in value.variables:
                self.take(variable, getattr(variable, "name", ""), digests, 0)
            return
        for group in value.param_groups:
            self.take({key: each for key, each in group.items() if key != "params"}, "", digests, 0)
            for parameter in group["params"]:
                self.take(dict(value.state.get(parameter, {})), "", digests, 0)

    def take_scheduler(self, value, digests):
        """Take in the numbers of a scheduler, and those of schedulers within."""
        for key, each in vars(value).items():
            if key in ("_schedulers", "schedulers"):
                for inner in each:
                    self.seen.add(id(inner))
                    self.take_scheduler(inner, digests)
            elif key != "optimizer":
                self.take(each, key, digests, 0)

    def take_state(self, value, digests):
        """Take in what an object says its state is."""
        self.take(value.state_dict(), "", digests, 0)

    def take_weights(self, value, digests):
        """Take in the tensors of a model."""
        tensors = list(value.parameters()) + list(value.buffers()) if hasattr(value, "parameters") else value.weights
        self.take(tensors, "", digests, 0)

    def take_order(self, value, digests):
        """Take in how far an iterator of a loader is."""
        self.take(value._num_yielded, "", digests, 0)


DIGESTED = {
    "optimizer": State.take_optimizer,
    "scheduler": State.take_scheduler,
    "scaler": State.take_state,
    "average": State.take_weights,
    "weights": State.take_weights,
    "order": State.take_order,
}


def program_frames(callers):
    """Return the frames of the program on the stack, the innermost first."""
    frame, frames = sys._getframe(1), []
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(HERE) and (callers is None or callers.is_program(frame)):
            frames.append(frame)
        frame = frame.f_back
    return frames


def name_of(key, outer):
    """Return the name under which an entry is counted: its own where that is a word."""
    return key if isinstance(key, str) and not key.isdigit() else outer


def bytes_of(value):
    """Return bytes that are equal for equal numbers, text and arrays; None for anything else."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # a number of NumPy's that was saved as text is one of Python's
    if value is None or isinstance(value, SCALARS):
        return repr(value).encode("utf-8", "backslashreplace")
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        return tensor_bytes(value.detach().cpu(), 1 << 62)
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return None if value.dtype == object else value.tobytes()
    if hasattr(value, "shape") and hasattr(value, "numpy"):
        return value.numpy().tobytes()
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "__array__"):
        return value.__array__().tobytes()
    return None
