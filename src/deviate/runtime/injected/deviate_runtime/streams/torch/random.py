"""PyTorch's default generators: that of the CPU, and those of the devices once they are started.

The state of a generator of PyTorch, and states that the program reads and restores.

Generators that the program makes from ``torch.Generator``.
"""

import ctypes
import functools
import os
import sys
import zlib

from ...factors import OTHER, SHUFFLE
from ...patching import replaces
from ..generators import Generator, Made, bound_seed, is_switched, note_unseen, put_in_place, stand_for
from ..seeds import mix, record_source

#: States up to this long identify themselves.
SHORT = 64


class Switched(Generator):
    """A generator of torch. A state is what ``get_state`` returns: a tensor of bytes on the CPU."""

    def __init__(self, streams, item, cls, device=None, key=None):
        super().__init__(streams, key)
        self.cls = cls
        self.get, self.set = cls.get_state, cls.set_state
        self.device = device
        self.is_on_device = device is not None and "cpu" not in str(device)
        self.find = lambda: item

    def switch(self, factor):
        try:
            super().switch(factor)
        except RuntimeError:
            torch = sys.modules["torch"]
            if not (self.is_on_device and is_recorded(torch)):
                raise
            self.streams.process.events.note(
                "graph-not-switched",
                "what a captured CUDA graph draws counts as other draws, whatever draws it",
                "graph",
            )

    def live(self):
        return self.get(self.find())

    def put(self, state):
        item = self.find()
        if item is not None:
            self.set(item, state)

    def fresh(self, seed):
        generator = self.cls() if self.device is None else self.cls(device=self.device)
        self.cls.manual_seed(generator, int(seed))
        return self.cls.get_state(generator)

    def alone(self, state):
        generator = self.cls() if self.device is None else self.cls(device=self.device)
        self.cls.set_state(generator, state)
        return generator

    def mark(self, state):
        return zlib.crc32(content(state))


def is_recorded(torch):
    """Tell whether a graph of CUDA's is being captured: what ran now would run again with it."""
    capturing = getattr(torch.cuda, "is_current_stream_capturing", None)
    return capturing is not None and torch.cuda.is_initialized() and capturing()


def content(state):
    """Return the bytes of a state; NumPy may not be there."""
    return ctypes.string_at(state.data_ptr(), state.numel())


def token(state):
    """Return what identifies a state that was handed out."""
    data = content(state)
    return data if len(data) <= SHORT else (zlib.crc32(data), zlib.adler32(data))


def hand_back(streams, generator, state, plain, frame):
    """Restore the states that `state` stands for; within ``fork_rng``, which ends it, for the factor that drew then."""
    if generator is not None:
        streams.repeats.drop(generator)
    if generator is not None and streams.controls:
        jump = streams.forks > 0 or not streams.callers.is_program(frame)
        if generator.hand_back(token(state), jump):
            return
        if streams.forks:
            # What is computed again must start from this state, whatever it was drawn for.
            streams.suspended = True
    if generator is None:
        plain()
    else:
        streams.put_back(generator, plain)


#: Where torch seeds generators with numbers it has just drawn.
OF_TORCH = "/torch/utils/data/"

#: What torch gives a generator that is not seeded; the clock has no part in it.
DEFAULT_SEED = 67280421310721


#: How seeding is named in events.
MANUAL_SEED = "torch.Generator.manual_seed"


class MadeSwitched(Made, Switched):
    """A generator that the program made."""

    name = "torch.Generator"

    def __init__(self, streams, plain, item, key):
        super().__init__(streams, None, plain, item.device, key)
        self.watch(item)
        self.find = self.item


def replace_class(torch, streams, plain):
    """Replace the class by a subclass: the one of C takes no new methods."""

    class Generator(plain, metaclass=stand_for(plain)):
        """A generator whose seeds derive from the factors'."""

        def __init__(self, *args, **kwargs):
            frame = sys._getframe(1)
            if streams.callers.is_program(frame):
                seeded = dict(streams.callers.locate(frame) or {}, call="torch.Generator", given="None")
                adopt(streams, plain, self, seeded, DEFAULT_SEED)

        def manual_seed(self, seed):
            frame = sys._getframe(1)
            again = functools.partial(plain.manual_seed, self, seed)
            generator = streams.made.get(id(self))
            if generator is not None:
                streams.reseed(MANUAL_SEED, seed, [generator], again, frame)
                return self
            seeded = where_seeded(streams, seed, frame)
            if seeded is None:
                note_unseen(streams)
                return again()
            if not streams.controls:
                again()
            adopt(streams, plain, self, seeded, seed)
            return self

        def seed(self):
            generator = streams.made.get(id(self))
            if generator is None:
                return plain.seed(self)
            again, frame = functools.partial(plain.seed, self), sys._getframe(1)
            result = streams.reseed("torch.Generator.seed", None, [generator], again, frame)
            return generator.initial_seed() if result is None else result

        def initial_seed(self):
            generator = streams.made.get(id(self))
            planted = generator is not None and generator.planted
            return generator.initial_seed() if planted else plain.initial_seed(self)

        def get_state(self):
            state = plain.get_state(self)
            generator = streams.made.get(id(self))
            if generator is not None:
                generator.hand_out(token(state))
            return state

        def set_state(self, new_state):
            again = functools.partial(plain.set_state, self, new_state)
            hand_back(streams, streams.made.get(id(self)), new_state, again, sys._getframe(1))
            return self

    put_in_place(Generator, plain, torch)


def adopt(streams, plain, item, seeded, seed):
    """Begin to switch a generator, or have it draw for the factor that makes it."""
    key = streams.key(seed)
    if streams.current != OTHER:
        record_source(streams, streams.current, "torch.Generator", seeded)
    if is_switched(streams):
        generator = MadeSwitched(streams, plain, item, key)
        generator.seeded = seeded
        generator.start()
    elif streams.controls:
        plain.manual_seed(item, bound_seed(streams, key))
    else:
        note_unseen(streams)


def where_seeded(streams, seed, frame):
    """Return where a generator is seeded; None where a library seeds it for its own purposes, other than for a sampler.

    torch's samplers give what they have just drawn.
    """
    seeded = streams.locate_seed(MANUAL_SEED, seed, frame)
    of_torch = OF_TORCH in frame.f_code.co_filename.replace("\\", "/")
    if seeded is None and streams.current == SHUFFLE and not of_torch:
        return dict(streams.callers.locate_library(frame), call=MANUAL_SEED, given=repr(seed)[:100])
    return seeded


#: Kinds of devices that have a default generator for each device, made when the first is used.
DEVICES = ("cuda", "xpu")

#: Kinds of devices that are only seeded: with the seed of the factor that draws where no boundary is.
SEEDED_ONLY = ("mps", "mtia")


def patch_torch(torch, streams):
    """Have the default generators draw from the factors' streams, and replace the seeds that the program gives."""
    if hasattr(torch.manual_seed, "_deviate"):
        return
    plain_class = torch.Generator
    cpu = Switched(streams, torch.default_generator, plain_class)
    cpu.name = "torch"
    cpu.start()
    defaults = Defaults(torch, streams, cpu, plain_class)
    wrap_seeding(torch, streams, defaults)
    wrap_states(torch, streams, cpu)
    for kind in DEVICES:
        module = getattr(torch, kind, None)
        if module is not None and hasattr(module, "_lazy_call"):
            wrap_device(torch, module, kind, defaults)
    for kind in SEEDED_ONLY:
        if hasattr(getattr(torch, kind, None), "manual_seed"):
            defaults.seeded_only.append(plain_seeding(getattr(torch, kind)))
    wrap_fork_rng(torch, streams)
    replace_class(torch, streams, plain_class)


class Defaults:
    """The default generators.

    Attributes
    ----------
    of : dict
        Those of the devices that were started, by kind of device.
    keys : dict
        What the devices that were not started yet are to be seeded with, by kind: a key, and who seeded.
    """

    def __init__(self, torch, streams, cpu, cls):
        self.torch = torch
        self.streams = streams
        self.cpu = cpu
        self.cls = cls
        self.of = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.of.clear)
        self.keys = {}
        self.seeded_only = []

    def all(self):
        """Return all generators that ``torch.manual_seed`` seeds."""
        return [self.cpu] + [generator for kind in self.of for generator in self.of[kind]]

    def start(self, kind):
        """Begin to switch the generators of a kind of device, which are there from now on."""
        if kind in self.of:
            return
        key, seeded = self.keys.get(kind, (None, None))
        self.of[kind] = []
        module = getattr(self.torch, kind)
        for number, item in enumerate(module.default_generators):
            device = "%s:%d" % (kind, number)
            generator = Switched(self.streams, item, self.cls, device, key)
            generator.name = device
            generator.seeded = seeded
            generator.start()
            self.of[kind].append(generator)

    def reseed(self, call, seed, generators, plain, frame, kinds=()):
        """Seed `generators`, and those of `kinds` that are to come."""
        seeded = self.streams.locate_seed(call, seed, frame)
        result = self.streams.reseed(call, seed, generators, plain, frame)
        if seeded is None:
            return result
        key = None
        if self.streams.controls:
            key = generators[0].key if generators else self.streams.key(seed)
        for kind in kinds:
            self.keys[kind] = (key, seeded)
        return result if key is None else key

    def seed_others(self, key):
        """Seed the devices that are seeded only."""
        for plain in self.seeded_only:
            plain(mix(self.streams.seeds[OTHER], *key))


def plain_seeding(module):
    """Return a function that seeds devices which are never switched."""
    plain = getattr(module, "manual_seed_all", None) or module.manual_seed

    def seed(number):
        in_bad_fork = getattr(module, "_is_in_bad_fork", None)
        if in_bad_fork is None or not in_bad_fork():
            plain(number)

    return seed


def wrap_seeding(torch, streams, defaults):
    """Replace the functions that seed all devices, and that return the seed."""
    plain_manual_seed, plain_seed, plain_initial = torch.manual_seed, torch.seed, torch.initial_seed

    def reseed(call, seed, plain, frame):
        key = defaults.reseed(call, seed, defaults.all(), plain, frame, DEVICES)
        if isinstance(key, tuple):
            defaults.seed_others(key)
        return key

    @replaces(torch, "manual_seed", torch.random)
    def manual_seed(seed):
        reseed("torch.manual_seed", seed, lambda: plain_manual_seed(seed), sys._getframe(1))
        return torch.default_generator

    @replaces(torch, "seed", torch.random)
    def seed():
        result = reseed("torch.seed", None, plain_seed, sys._getframe(1))
        return defaults.cpu.initial_seed() if isinstance(result, tuple) else result

    @replaces(torch, "initial_seed", torch.random)
    def initial_seed():
        return defaults.cpu.initial_seed() if defaults.cpu.planted else plain_initial()


def wrap_states(torch, streams, cpu):
    """Replace the functions that hand out and take back the state of the CPU's generator."""
    plain_get, plain_set = torch.get_rng_state, torch.set_rng_state

    @replaces(torch, "get_rng_state", torch.random)
    def get_rng_state():
        state = plain_get()
        cpu.hand_out(token(state))
        return state

    @replaces(torch, "set_rng_state", torch.random)
    def set_rng_state(new_state):
        hand_back(streams, cpu, new_state, lambda: plain_set(new_state), sys._getframe(1))


def wrap_device(torch, module, kind, defaults):
    """Replace the functions of one kind of device that seed, and that hand out and take back states."""
    streams = defaults.streams
    module._lazy_call(lambda: start_devices(defaults, kind))

    def current():
        generators = defaults.of.get(kind)
        return [generators[module.current_device()]] if generators else []

    def all_of_kind():
        return list(defaults.of.get(kind, ()))

    def wrap(name, generators, takes_seed):
        plain = getattr(module, name, None)
        if plain is None:
            return
        call = "torch.%s.%s" % (kind, name)

        def reseed(seed, again, frame):
            defaults.reseed(call, seed, generators(), again, frame, (kind,))

        if takes_seed:

            @functools.wraps(plain)
            def seeding(seed):
                reseed(seed, lambda: plain(seed), sys._getframe(1))
        else:

            @functools.wraps(plain)
            def seeding():
                reseed(None, plain, sys._getframe(1))

        replace(module, name, plain, seeding)

    wrap("manual_seed", current, True)
    wrap("manual_seed_all", all_of_kind, True)
    wrap("seed", current, False)
    wrap("seed_all", all_of_kind, False)
    wrap_device_states(torch, module, kind, defaults, streams)


def start_devices(defaults, kind):
    """Do what is done once devices are started; they start whatever happens here."""
    try:
        defaults.start(kind)
    except Exception as error:
        defaults.streams.process.events.note("devices-not-switched", "%s: %r" % (kind, error), kind)


def wrap_device_states(torch, module, kind, defaults, streams):
    """Replace the functions that hand out and take back the states of one kind of device."""
    plain_get, plain_set = module.get_rng_state, module.set_rng_state

    def generator_of(device):
        generators = defaults.of.get(kind)
        if not generators:
            return None
        number = device if isinstance(device, int) else torch.device(device).index
        return generators[module.current_device() if number is None else number]

    @functools.wraps(plain_get)
    def get_rng_state(device=kind):
        state = plain_get(device)
        generator = generator_of(device)
        if generator is not None:
            generator.hand_out(token(state))
        return state

    @functools.wraps(plain_set)
    def set_rng_state(new_state, device=kind):
        frame = sys._getframe(1)
        hand_back(streams, generator_of(device), new_state, lambda: plain_set(new_state, device), frame)

    replace(module, "get_rng_state", plain_get, get_rng_state)
    replace(module, "set_rng_state", plain_set, set_rng_state)


def replace(module, name, plain, wrapped):
    """Replace a function where the program finds it, and in the module that defines it."""
    setattr(module, name, wrapped)
    inner = getattr(module, "random", None)
    if getattr(inner, name, None) is plain:
        setattr(inner, name, wrapped)


def wrap_fork_rng(torch, streams):
    """Track when the program is in ``fork_rng``, which ends with the states that it began with."""
    plain = torch.random.fork_rng
    checkpoint = "torch/utils/checkpoint.py"

    @replaces(torch.random, "fork_rng")
    def fork_rng(*args, **kwargs):
        file = sys._getframe(1).f_code.co_filename.replace("\\", "/")
        return Forked(streams, plain(*args, **kwargs), file.endswith(checkpoint))


class Forked:
    """The context of ``fork_rng``.

    Activation checkpointing computes again in it, in a thread of the backward pass, while the one that draws otherwise
    waits: that thread's boundaries count meanwhile.
    """

    def __init__(self, streams, plain, lent):
        self.streams = streams
        self.plain = plain
        self.lent = lent

    def __enter__(self):
        from threading import get_ident

        streams = self.streams
        self.before = streams.thread, streams.suspended
        if self.lent:
            streams.thread = get_ident()
        streams.forks += 1
        return self.plain.__enter__()

    def __exit__(self, *raised):
        streams = self.streams
        try:
            streams.suspended = self.before[1]
            return self.plain.__exit__(*raised)
        finally:
            streams.forks -= 1
            streams.thread = self.before[0]

    def __call__(self, function):
        return self.plain(function)
