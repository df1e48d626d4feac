"""Digests of tensors, arrays and other values: equal for equal bits in equal order.

A digest is a text of the kind and shape of a value and a CRC-32 of its bytes, which every change of one element, of a
sign, of an order or of one unit in the last place moves. Of short plain values it is the value itself. It is None for
what has no content that can be read without running the program's own code.
"""

import _random
import ctypes
import marshal
import pickle
import sys
import types
import zlib

#: Plain values whose `repr` takes no more characters stand for themselves.
SHORT = 40

#: How deep, and how many items of a container that is not plain, are read.
DEPTH, ITEMS = 6, 5000

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})

#: Of these values `marshal` knows the bytes, if it knows those of all in it.
MARSHALLED = PLAIN | {list, tuple, dict, set, frozenset}

#: What has no content of its own.
CODE = frozenset({types.FunctionType, type})

#: Modules with a generator that everybody shares, and its name among the streams.
SHARED = {"random": "random", "numpy.random": "numpy", "torch": "torch"}

#: Those whose state lies in one piece of memory that stays where it is.
IN_PLACE = ("random", "numpy")

#: Bytes of an array that are read where not every bit counts; of a larger one as many are, evenly spread.
SAMPLED = 16 << 20

#: A view of a piece of memory; unlike an array of `ctypes` it calls no audit hook.
memory = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
READ = 0x100

#: Bytes from which on a content is kept to be compared with, and how many are kept in all.
KEPT, MOST_KEPT = 1 << 14, 1 << 28

#: Bytes of NumPy's Mersenne twister: 624 numbers and a position.
TWISTER = 2500

#: A number of an object as long as it lives; unlike `id` it calls no audit hook.
identity = object.__hash__

#: Modules with types that draw.
GENERATORS = ("random", "numpy.random._generator", "numpy.random.mtrand", "torch", "torch._C")

#: Of named values that hold settings, and nothing that computes.
NAMESPACES = ("Namespace", "SimpleNamespace", "AttrDict", "EasyDict")


class Digests:
    """The digests of one process."""

    def __init__(self, process):
        self.process = process
        #: True while a tensor is read: what PyTorch does then is not the program's.
        self.is_reading = False
        #: How digests begin, by type and shape.
        self.kinds = {}
        #: Types of values that have no content.
        self.empty = set(CODE)
        #: Of states of generators that everybody shares: the state, and the memory that holds all of it.
        self.held = {}
        #: States of generators that are known while nothing runs; None: something may.
        self.states = None
        self.contents = Contents()

    def of(self, value, depth=0):
        """Return the digest of any value."""
        kind = type(value)
        if kind in PLAIN:
            text = repr(value)
            return text if len(text) <= SHORT else "%s:%s" % (kind.__name__, crc(text.encode("utf-8", "replace")))
        if kind in self.empty:
            return None
        try:
            return self.content(kind, value, depth) if depth < DEPTH else None
        except Exception:
            return None

    def content(self, kind, value, depth):
        """Return the digest of a value that is not plain."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind is numpy.ndarray:
            return self.array(numpy, value)
        if kind in (list, tuple, dict):
            return self.container(kind, value, depth)
        if kind in (set, frozenset):
            # An object's own text may hold where it lies.
            items = [repr(item) if type(item) in PLAIN else self.of(item, depth + 1) or "" for item in value]
            return "set of %d:%s" % (len(value), crc(repr(sorted(items)).encode()))
        if isinstance(value, types.ModuleType):
            return self.shared(SHARED.get(value.__name__))
        if kind.__name__ in NAMESPACES:
            return self.container(dict, vars(value), depth)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self.tensor(torch, value)
        if torch is not None and isinstance(value, torch.nn.Module) and not hasattr(kind, "get_weights"):
            self.empty.add(kind)
            return None
        if torch is not None and hasattr(value, "param_groups"):
            return self.container(list, settings(value), depth)
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            return self.array(numpy, value)
        return self.of_library(kind, value, numpy, depth)

    def container(self, kind, value, depth):
        """Return the digest of a list, a tuple or a dictionary, in its order."""
        items = list(value.items()) if kind is dict else list(value)
        try:
            # By this version equal values have equal bytes, however often an object is used.
            if not items or type(items[0]) in MARSHALLED:
                return "%s of %d:%s" % (kind.__name__, len(value), crc(marshal.dumps(value, 2)))
        except ValueError:
            pass
        parts = [self.of(item, depth + 1) for item in items[:ITEMS]]
        known = [part for part in parts if part is not None]
        if items and not known:
            return None
        return "%s of %d:%s" % (kind.__name__, len(items), crc(repr(parts).encode("utf-8", "replace")))

    def of_library(self, kind, value, numpy, depth):
        """Return the digest of an array of JAX or TensorFlow, a model, a table or a generator."""
        library = (kind.__module__ or "").partition(".")[0]
        if library in ("jax", "jaxlib") and numpy is not None and hasattr(value, "dtype"):
            if str(value.dtype).startswith("key<"):
                value = sys.modules["jax"].random.key_data(value)
            return self.array(numpy, numpy.asarray(value))
        if library == "tensorflow" and hasattr(value, "numpy"):
            return self.array(numpy, numpy.asarray(value.numpy()))
        if library == "keras" and hasattr(value, "get_weights"):
            return named(kind, self.container(list, value.get_weights(), depth)) if value.built else None
        if library == "pandas" and hasattr(value, "to_numpy"):
            columns = [str(each) for each in getattr(value, "columns", ())]
            return named(kind, self.container(list, [columns, value.to_numpy()], depth))
        if library == "sklearn" and hasattr(value, "get_params"):
            return named(kind, pickle.dumps(value, 4))
        return self.generator(value)

    # Generators

    def generator(self, value):
        """Return the digest of the state of a generator, or of that which a method draws from."""
        kind, value = type(value), getattr(value, "__self__", value)
        streams = self.process.streams
        for known in streams.all_generators() if streams is not None else ():
            item = getattr(known, "item", None) or getattr(known, "find", None)
            if item is not None and item() is value:
                return self.mark(known)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch._C.Generator):
            # The object that an operation is given need not be the one that the program made.
            return "state:" + tensor_crc(torch, torch._C.Generator.get_state(value), self.contents)
        numbers = getattr(value, "bit_generator", None)
        if numbers is not None and type(value).__module__.startswith("numpy."):
            return "state:" + crc(repr(numbers.state).encode())
        if type(value) is kind and kind.__module__ not in GENERATORS and not hasattr(kind, "add_param_group"):
            self.empty.add(kind)
        return None

    def shared(self, name):
        """Return the digest of the state of a generator that everybody shares."""
        if self.states is None:
            return self.state(name)
        if name not in self.states:
            self.states[name] = self.state(name)
        return self.states[name]

    def state(self, name):
        """Return the digest of the state that a generator is in now."""
        streams = self.process.streams
        for each in streams.generators if name is not None and streams is not None else ():
            if each.name == name:
                return self.mark(each)
        return None

    def mark(self, generator):
        """Return the digest of the state that a generator is in now."""
        state = generator.live()
        if generator.name not in IN_PLACE:
            return "state:%08x" % generator.mark(state)
        known = self.held.get(identity(state))
        if known is None:
            known = self.held[identity(state)] = state, whole(state)
        return "state:%08x" % (generator.mark(state) if known[1] is None else zlib.crc32(known[1]))

    def shared_states(self):
        """Return the digests of all generators that everybody shares, by name."""
        streams = self.process.streams
        generators = streams.generators if streams is not None else ()
        return {each.name: self.mark(each) for each in generators}

    # Arrays

    def array(self, numpy, value):
        """Return the digest of an array of NumPy."""
        value = numpy.asarray(value)
        known = self.kinds.get((value.dtype, value.shape))
        if known is not None and value.nbytes < KEPT and value.flags.c_contiguous:
            return known + crc(value)
        if value.dtype == object:
            return self.container(list, value.reshape(-1).tolist(), 1)
        data = value
        if value.nbytes > SAMPLED:
            data = value.reshape(-1)[:: -(-value.nbytes // SAMPLED)]
        data = numpy.ascontiguousarray(data)
        # Its short name takes less time than its long one, and says nothing of fields.
        kind = value.dtype.str if value.dtype.names is None else value.dtype
        # What is no number may not be read as it lies.
        is_number = data.dtype.kind in "biufc"
        content = data if is_number else data.reshape(-1).view("uint8")
        is_large = KEPT <= data.nbytes and data is value
        text = self.contents.crc(data.__array_interface__["data"][0], data.nbytes) if is_large else crc(content)
        begin = "%s%s:" % (kind, list(value.shape))
        if is_number:
            self.kinds[value.dtype, value.shape] = begin
        return begin + text

    def tensor(self, torch, value):
        """Return the digest of a tensor, None where it has no content; nothing that is done for it is recorded."""
        before, self.is_reading = self.is_reading, True
        try:
            kind = value.dtype, value.shape
            if kind not in self.kinds:
                self.kinds[kind] = "%s%s:" % (str(value.dtype)[6:], list(value.shape))
            return self.kinds[kind] + tensor_crc(torch, value, self.contents)
        except Exception:
            return None
        finally:
            self.is_reading = before


def whole(state):
    """Return the memory that holds all of a state, None where it is not known."""
    if isinstance(state, _random.Random):
        size = _random.Random.__basicsize__ - object.__basicsize__
        return memory(id(state) + object.__basicsize__, size, READ)
    if type(state).__name__ == "MT19937":
        return memory(state.ctypes.state_address, TWISTER, READ)
    return None


def settings(optimizer):
    """Return what an optimizer is set to, without what it updates."""
    return [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]


def named(kind, content):
    """Return the digest of a model or a table."""
    content = content if isinstance(content, bytes) else content.encode()
    return "%s[]:%s" % (kind.__name__, crc(content))


def crc(data):
    """Return the CRC-32 of bytes."""
    return "%08x" % zlib.crc32(data)


class Contents:
    """Checksums of what lay in memory when it was last read: to compare all bytes takes a tenth of the time."""

    def __init__(self):
        self.kept = {}
        self.size = 0
        try:
            kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
            self.differ = kind(("memcmp", ctypes.pythonapi))
        except AttributeError:
            self.differ = None

    def crc(self, address, size):
        """Return the CRC-32 of a piece of memory."""
        if size < KEPT or size > MOST_KEPT // 4 or self.differ is None:
            return crc(memory(address, size, READ))
        # Taken out, no other thread writes into it; what was used last is kept longest.
        copy, text = self.kept.pop((address, size), None) or (self.room(size), None)
        if text is None or self.differ(address, copy, size):
            # The content may change meanwhile: the checksum is that of the copy.
            ctypes.memmove(copy, address, size)
            text = crc(copy)
        self.kept[address, size] = copy, text
        return text

    def room(self, size):
        """Return memory for a copy; what was read longest ago goes first."""
        self.size += size
        while self.size > MOST_KEPT:
            first = next(iter(self.kept))
            self.size -= first[1]
            del self.kept[first]
        return ctypes.create_string_buffer(size)


def tensor_crc(torch, value, contents):
    """Return the CRC-32 of the bytes of a tensor."""
    if not is_plain(torch, value):
        value = plain(torch, value)
    size = value.numel() * value.element_size()
    return contents.crc(value.data_ptr(), size) if size else "0"


def is_plain(torch, value):
    """Tell whether the bytes of a tensor are what lies at its address."""
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout is torch.strided
        and value.is_cpu
        and not value.is_conj()
        and not value.is_neg()
        and (value.is_contiguous() or is_dense(value.shape, value.stride()))
    )


def plain(torch, value):
    """Return a tensor of the same content whose bytes are what lies at its address."""
    with torch.no_grad():
        value = value.detach()
        if hasattr(value, "to_local"):
            value = value.to_local()
        if value.layout != torch.strided:
            value = value.to_dense()
        if value.device.type != "cpu":
            value = value.cpu()
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        if not is_dense(value.shape, value.stride()):
            value = value.contiguous()
        return value


def is_dense(shape, strides):
    """Tell whether a tensor fills a piece of memory without holes, in whatever order of its dimensions."""
    expected = 1
    for stride, size in sorted((strides[place], size) for place, size in enumerate(shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True
