"""PyTorch's default generators: that of the CPU, and those of the devices once they are started."""

import functools
import os
import sys

from ...factors import OTHER
from ...patching import replaces
from ..derive import mix
from .objects import Switched, hand_back, replace_class, token

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
