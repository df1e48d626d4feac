"""Every operation that PyTorch dispatches, in order of execution, with digests of what enters and leaves it."""

import ctypes
import functools
import importlib
import os
import sys

from .digests import PLAIN, identity
from .digests import plain as plain_tensor
from .lines import LOADER, MODULE, PROGRAM, RESUMED

#: Operations that leave memory as they find it: what is in it then is no result of theirs.
EMPTY = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_")

#: Operations on the same content under another name.
SILENT = ("aten::detach", "aten::alias", "aten::lift_fresh", "aten::is_same_size")

#: Operations in which all ranks take part: none calls one for itself.
COLLECTIVE = ("c10d", "_c10d", "symm_mem")

#: Operations that only tell a profiler where the program is.
PROFILER = "profiler::"

#: Scalars are written with so many characters at most.
TEXT = 200


#: What keeps the interpreter from calling the tracer of lines; an earlier one than 3.11 has nothing that costs little.
is_suspendable = hasattr(ctypes.pythonapi, "PyThreadState_EnterTracing")
if is_suspendable:
    thread_state = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
    suspend, resume = (
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)((name, ctypes.pythonapi))
        for name in ("PyThreadState_EnterTracing", "PyThreadState_LeaveTracing")
    )


def untraced(function, *args):
    """Return what a function returns; the tracer of lines is not called for it and what it calls."""
    if not is_suspendable:
        return function(*args)
    thread = thread_state()
    suspend(thread)
    try:
        return function(*args)
    finally:
        resume(thread)


class Kind:
    """What is known of an operation by its schema.

    Attributes
    ----------
    is_empty, is_view, is_random, is_skipped : bool
    written : tuple
        Positions and names of the arguments that it writes to.
    """

    def __init__(self, torch, function):
        self.function = function
        #: What calls it; the object of Python would call a function of Python first.
        self.call = getattr(function, "_op", function)
        schema = function._schema
        self.name = "%s.%s" % (schema.name.replace("::", "."), schema.overload_name or "default")
        base = schema.name.partition("::")[2]
        self.is_empty = base in EMPTY
        written = [(i, each.name) for i, each in enumerate(schema.arguments) if is_written(each)]
        self.written = tuple(written)
        self.is_view = not written and any(each.alias_info is not None for each in schema.returns)
        tags = getattr(torch, "Tag", None)
        self.is_random = tags is not None and tags.nondeterministic_seeded in function.tags
        self.is_skipped = schema.name in SILENT or schema.name.startswith(PROFILER)


def is_written(argument):
    """Tell whether an operation writes to an argument."""
    return argument.alias_info is not None and argument.alias_info.is_write


def make_recorder(torch, diverging):
    """Return what records operations from its `begin` to its `stop`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    operations = Operations(torch, diverging)
    compiler = kept_out(torch)

    class Recorder(TorchDispatchMode):
        """Stands between PyTorch's dispatcher and its kernels."""

        @classmethod
        def _should_skip_dynamo(cls):
            # What PyTorch would put around keeps the compiler out as well, and calls ten functions at each operation.
            return compiler is None

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if diverging.digests.is_reading or not diverging.is_recording:
                return function(*args, **(kwargs or {}))
            if compiler is None:
                return operations.call(function, args, kwargs or {})
            before = compiler.set_eval_frame(None)
            try:
                return operations.call(function, args, kwargs or {})
            finally:
                compiler.set_eval_frame(before)

        def begin(self):
            self.__enter__()

        def stop(self):
            self.__exit__(None, None, None)

    if compiler is not None:
        compiler.skip_code(vars(Recorder)["__torch_dispatch__"].__code__)
    return Recorder()


def kept_out(torch):
    """Return what keeps the compiler out of the recorder, None where the recorder cannot tell it."""
    if not hasattr(torch.utils._python_dispatch.TorchDispatchMode, "_should_skip_dynamo"):
        return None
    compiler = importlib.import_module("torch._dynamo.eval_frame")
    return compiler if hasattr(compiler, "set_eval_frame") and hasattr(compiler, "skip_code") else None


class Operations:
    """The operations of one process.

    Attributes
    ----------
    kinds : dict
        By operation.
    allocated : dict
        The record that allocated a piece of memory without filling it, by its address, and what tells its end.
    forward : dict
        Where the operations of the forward pass were called, by the number that autograd gave them.
    """

    def __init__(self, torch, diverging):
        self.torch = torch
        self.diverging = diverging
        self.digest = functools.partial(diverging.digests.tensor, torch)
        self.kinds = {}
        self.allocated = {}
        self.forward = {}
        self.places = Places(torch, diverging)
        self.sequence = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)
        self.node = getattr(torch._C, "_current_autograd_node", lambda: None)
        updates = diverging.updates
        self.is_updating = lambda: updates.is_updating
        self.kept = Kept(torch, diverging) if diverging.put else None
        #: Of operations that do not repeat, where they were seen.
        self.seen = set()

    def call(self, function, args, kwargs):
        """Call an operation and record it."""
        kind = self.kinds.get(identity(function))
        if kind is None:
            kind = self.kinds[identity(function)] = Kind(self.torch, function)
        if kind.is_skipped:
            return kind.call(*args, **kwargs)
        attempt = self.diverging.attempt
        record = untraced(attempt, self.before, kind, args, kwargs)
        tried = attempt(self.tried, function, kind, args, kwargs) if self.diverging.is_alone else None
        # It may call functions of the program.
        result = kind.call(*args, **kwargs)
        if tried is not None:
            attempt(self.compare, record, tried, kind, args, kwargs, result)
        elif record is not None and not self.diverging.is_alone:
            untraced(attempt, self.after, record, kind, args, kwargs, result)
        return result

    def before(self, kind, args, kwargs):
        """Return the record of an operation that is about to run."""
        tensors, scalars = [], []
        for value in (*args, *kwargs.items()):
            sort(self.torch, value, tensors, scalars)
        record = {"e": "operation", "op": kind.name, "scalars": repr(list(map(plain, scalars)))[:TEXT]}
        record["threads"] = self.torch.get_num_threads()
        self.locate(record)
        if not self.diverging.is_alone:
            self.enter(record, kind, tensors, kwargs)
        return record

    def enter(self, record, kind, tensors, kwargs):
        """Add to a record what enters an operation."""
        if self.kept is not None:
            self.kept.put(record, tensors, is_given=True)
        if not kind.is_view:
            record["in"] = [self.digest(tensor) for tensor in tensors]
            empty = [self.empty_record(tensor) for tensor in tensors]
            if any(each is not None for each in empty):
                record["unfilled"] = empty
        if kind.is_random:
            record["random"] = self.random_state(tensors, kwargs)

    def random_state(self, tensors, kwargs):
        """Return the digest of the state of the generator that an operation draws from."""
        generator = kwargs.get("generator")
        if generator is not None:
            return self.diverging.digests.of(generator) or "given"
        device = tensors[0].device if tensors else self.torch.device(kwargs.get("device") or "cpu")
        name = "torch" if device.type == "cpu" else "%s:%d" % (device.type, device.index or 0)
        return self.diverging.digests.shared(name) or "shared"

    def locate(self, record):
        """Add to a record where its operation is called, and in which phase."""
        node = self.node()
        place = self.places.here()
        record.update(place)
        if node is not None:
            record["phase"] = "backward"
            record["forward"] = self.forward.get(node._sequence_nr())
            return
        if self.is_updating():
            record["phase"] = "optimiser"
        elif place.get("data"):
            record["phase"] = "data"
        else:
            record["phase"] = "forward" if place.get("module") else "program"
        known = {key: place[key] for key in ("file", "line", "module") if key in place}
        self.forward.setdefault(self.sequence() - 1, dict(known, op=record["op"]))

    # Twice

    def tried(self, function, kind, args, kwargs):
        """Call an operation on copies of what it writes to, and return the digests of what it leaves.

        None where another call may leave something else: it draws, leaves memory unfilled, or all ranks take part.
        """
        if kind.is_empty or kind.is_view or kind.is_random or kind.name.startswith(COLLECTIVE):
            return None
        args, kwargs = list(args), dict(kwargs)
        for position, name in kind.written:
            place, key = (args, position) if position < len(args) else (kwargs, name)
            if place is args or name in kwargs:
                place[key] = copied(self.torch, place[key])
        return self.digests(*self.left(kind, args, kwargs, function(*args, **kwargs)))

    def compare(self, record, tried, kind, args, kwargs, result):
        """Write the record of an operation whose two calls left other bits, once for each place."""
        self.diverging.number += 1
        left = self.digests(*self.left(kind, args, kwargs, result))
        if left != tried and record is not None and place_of(record) not in self.seen:
            self.seen.add(place_of(record))
            self.diverging.write(dict(record, out=left))
            self.diverging.flush()

    # What it leaves

    def left(self, kind, args, kwargs, result):
        """Return the tensors that an operation leaves or has written to, and what else it returns."""
        tensors, scalars = [], []
        sort(self.torch, result, tensors, scalars)
        for position, name in kind.written:
            value = args[position] if position < len(args) else kwargs.get(name)
            sort(self.torch, value, tensors, [])
        return tensors, scalars

    def digests(self, tensors, scalars):
        """Return the digests of what an operation leaves."""
        known = [self.digest(tensor) for tensor in distinct(tensors)]
        return known if scalars == [None] else known + [repr(each)[:TEXT] for each in scalars]

    def after(self, record, kind, args, kwargs, result):
        """Write the record of an operation that ran."""
        tensors, scalars = self.left(kind, args, kwargs, result)
        if self.kept is not None:
            generator = kwargs.get("generator") or self.torch.default_generator
            self.kept.put(record, list(distinct(tensors)), generator=generator if kind.is_random else None)
        if kind.is_empty:
            record["empty"] = [list(tensor.shape) for tensor in tensors]
        elif not kind.is_view:
            record["out"] = self.digests(tensors, scalars)
        number = self.diverging.write(record)
        for tensor in tensors if not kind.is_view else ():
            self.remember(tensor, number if kind.is_empty else None)

    # Memory

    def remember(self, tensor, number):
        """Note which record allocated the memory of a tensor without filling it."""
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if number is not None:
            self.allocated[address] = number, StorageEnd(storage)
        elif address in self.allocated:
            is_filled = tensor.numel() * tensor.element_size() == storage.nbytes()
            if is_filled or self.allocated[address][1].is_past():
                del self.allocated[address]

    def empty_record(self, tensor):
        """Return the record that allocated the memory of a tensor without filling it, None where there is none."""
        if not self.allocated or tensor.device.type == "meta":
            return None
        address = tensor.untyped_storage().data_ptr()
        known = self.allocated.get(address)
        if known is not None and known[1].is_past():
            del self.allocated[address]
            return None
        return known and known[0]


def copied(torch, value):
    """Return a copy of a tensor, or of a list of them, that lies in its memory as the original does."""
    if isinstance(value, (list, tuple)):
        return [copied(torch, each) for each in value]
    if not isinstance(value, torch.Tensor):
        return value
    copy = torch.empty(0, dtype=value.dtype, device=value.device)
    return copy.set_(value.untyped_storage().clone(), value.storage_offset(), value.shape, value.stride())


class StorageEnd:
    """Tells whether a piece of memory has been given back since."""

    def __init__(self, storage):
        self.reference = storage._weak_ref()
        self.cls = type(storage)

    def is_past(self):
        return self.cls._expired(self.reference)

    def __del__(self):
        self.cls._free_weak_ref(self.reference)


def distinct(tensors):
    """Return tensors without those that come twice: an operation in place returns what it writes to."""
    known = {}
    for tensor in tensors:
        known.setdefault(identity(tensor), tensor)
    return known.values()


def sort(torch, value, tensors, scalars):
    """Put the tensors in a value, and what else is in it, into two lists."""
    if type(value) in PLAIN:
        scalars.append(value)
    elif isinstance(value, torch.Tensor):
        tensors.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            sort(torch, item, tensors, scalars)
    elif not isinstance(value, torch.Generator):
        scalars.append(value)


def plain(value):
    """Return what stands for an argument that is no tensor: of other objects than plain ones, their kind."""
    if type(value) in PLAIN:
        return value
    library = type(value).__module__
    return value if library in ("builtins", "torch") and "torage" not in type(value).__name__ else type(value).__name__


class Places:
    """Tells where in the program an operation is called."""

    def __init__(self, torch, diverging):
        self.diverging = diverging
        self.callers = diverging.process.streams.callers
        self.module_call = torch.nn.Module._call_impl.__code__
        self.paths = {}

    def here(self):
        """Return the file and line of the program that called, its function, and the path of the module it is in."""
        frame, place, (chain, in_data) = sys._getframe(1), {}, ([], False)
        lines, trace = self.diverging.lines, None
        while frame is not None:
            names = frame.f_globals
            role = (lines.scopes.get(identity(names)) or lines.scope(names))[0]
            if role is MODULE and frame.f_code is self.module_call:
                chain.append(frame.f_locals.get("self"))
            elif role is LOADER:
                in_data = True
            elif role is PROGRAM and not place and self.callers.is_program(frame):
                trace = lines.trace_of(frame)
                place = self.place(frame, trace)
                within, (chain, in_data) = (chain, in_data), ([], False)
                if trace is not None and trace.around is not None:
                    chain, in_data = trace.around
                    break
            frame = frame.f_back
        if trace is not None and not trace.code.co_flags & RESUMED:
            trace.around = chain, in_data
        if place:
            chain, in_data = within[0] + chain, within[1] or in_data
        if chain:
            place["module"] = self.path(chain)
        if in_data:
            place["data"] = True
        return place

    def place(self, frame, trace):
        """Return where a frame of the program is."""
        code = frame.f_code if trace is None else trace.code
        place = {"file": self.diverging.lines.file(code), "line": frame.f_lineno, "function": code.co_name}
        return dict(place, frame=None if trace is None else trace.number)

    def path(self, chain):
        """Return the name of the innermost of the modules that call each other, as its outermost one has it."""
        root, inner = chain[-1], chain[0]
        key = identity(root), identity(inner)
        if key not in self.paths:
            names = {identity(module): name for name, module in root.named_modules()}
            name = names.get(identity(inner), "")
            self.paths[key] = ".".join(part for part in (type(root).__name__, name) if part)
        return self.paths[key]


# What operations were given, or left, in the first run, put in place of what they have in the second.

#: Bytes that are kept of one operation.
MOST_KEPT = 1 << 30


class Kept:
    """The operations of one process that something is put in place of.

    Attributes
    ----------
    places : dict
        By where an operation is called (`place_of`): the number of its file, and whether what it is given is meant.
    """

    def __init__(self, torch, diverging):
        self.torch = torch
        self.is_second = diverging.put_from is not None
        self.folder = diverging.put_from or diverging.process.config["records"]
        self.places = {tuple(place): (number, given) for number, (place, given) in enumerate(diverging.put)}
        self.offsets = {}
        self.process = os.getpid()

    def put(self, record, tensors, *, is_given=False, generator=None):
        """Keep the content of tensors in the first run; in the second, put what was kept in its place."""
        number, given = self.places.get(place_of(record), (None, None))
        if given is not is_given or os.getpid() != self.process:
            return
        states = [self.torch._C.Generator.get_state(generator)] if generator is not None else []
        path = os.path.join(self.folder, "kept-%d" % number)
        with open(path, "rb" if self.is_second else "ab") as file:
            file.seek(self.offsets.get(number, 0))
            for tensor in [*tensors, *states]:
                self.replace(file, tensor) if self.is_second else self.keep(file, tensor)
            self.offsets[number] = file.tell()
        if states and self.is_second:
            self.torch._C.Generator.set_state(generator, states[0])

    def keep(self, file, tensor):
        """Append the content of a tensor."""
        if file.tell() < MOST_KEPT:
            file.write(plain_tensor(self.torch, tensor).contiguous().view(-1).view(self.torch.uint8).numpy().data)

    def replace(self, file, tensor):
        """Give a tensor the content that is next in the file; nothing where that is over."""
        data = bytearray(file.read(tensor.numel() * tensor.element_size()))
        if data and len(data) == tensor.numel() * tensor.element_size():
            kept = self.torch.frombuffer(data, dtype=self.torch.uint8).view(tensor.dtype).view(tensor.shape)
            # This way autograd sees no change.
            tensor.data.copy_(kept)


def place_of(record):
    """Return where and in which phase an operation is called, as both runs have it."""
    return (record["op"], record.get("module", ""), record.get("file", ""), record.get("line", 0), record["phase"])
