"""The module `random`: its own generator, and those the program makes from `random.Random`."""

import os
import sys

from ..patching import STANDARD_LIBRARY, Stand, replaces
from .callers import past_forwarders
from .generators import Generator, Made, bound_seed, is_switched, note_unseen


def patch_random(random, streams):
    """Have the module's generator, and those made from its class, draw from the factors' streams."""
    if hasattr(random.seed, "_deviate"):
        return
    # Python 3.7 draws whole numbers otherwise where its own method of C is not hidden.
    kind = Shared if sys.version_info >= (3, 8) else Switched
    module_generator = kind(random, streams, random._inst)
    wrap_class(random, streams, module_generator)
    module_generator.start()
    # The functions of the module are methods of its instance.
    for name in ("seed", "getstate", "setstate"):
        setattr(random, name, getattr(random._inst, name))
    for name, method in module_generator.hiding.items():
        setattr(random, name, method)
    if hasattr(os, "register_at_fork"):
        # Registered after the hook of `random` itself, which seeds a forked child from the system.
        def restart():
            if streams.controls and not streams.process.is_warm:
                module_generator.restart_in_child(forked=True)

        os.register_at_fork(after_in_child=restart)


class Switched(Generator):
    """A generator of Python's. Its state is another generator, that of the current factor, which draws in its place.

    All methods of `random.Random` draw by two methods of C. They are hidden by functions among the instance's
    attributes, which go to the current state: a switch is one assignment, and a program may keep them.
    """

    name = "random"

    def __init__(self, random, streams, instance, key=None):
        super().__init__(streams, key)
        self.Random = random.Random
        self.plain_seed = getattr(random.Random.seed, "__wrapped__", random.Random.seed)
        self.namespace = vars(instance)
        self.item = lambda: instance
        self.current = instance
        #: What hides the two methods, by name; empty as long as nothing does.
        self.hiding = {}

    def hide(self):
        """Have the instance draw from the current state."""
        self.hiding = {"random": DrawsFloat(self), "getrandbits": DrawsBits(self)}
        self.namespace.update(self.hiding)

    def live(self):
        # `gauss` makes two numbers at once and keeps the second among the instance's attributes.
        vars(self.current)["gauss_next"] = self.namespace.get("gauss_next")
        return self.current

    def put(self, state):
        if not self.hiding:
            self.hide()
        self.current = state
        self.namespace["gauss_next"] = vars(state).get("gauss_next")

    def fresh(self, seed):
        state = self.Random.__new__(self.Random)
        self.plain_seed(state, seed)
        return state

    def restart_in_child(self, forked):
        """Seed a forked child anew: without Deviate the system seeds it, whatever was seeded before."""
        if forked or self.seeded is None:
            self.reset((*self.streams.lineage, "start"))

    def copy(self, state):
        copied = self.Random.__new__(self.Random)
        set_state(copied, get_state(state))
        copied.gauss_next = vars(state).get("gauss_next")
        return copied

    def owns(self, owner, function):
        return getattr(owner, "__dict__", None) is self.namespace or function in self.hiding.values()

    def mark(self, state):
        return hash(get_state(state)) & 0xFFFFFFFF


class Drawing(Stand):
    """A method of C of a generator, for whichever state draws; it holds the generator's object no more than that does.

    A program may keep it, and pickle it: then it is a method of the generator's object again, or of a copy of its own
    where that is gone.
    """

    method = ""

    def __init__(self, generator):
        self.generator = generator
        self.__module__, self.__doc__ = None, getattr(generator.current, self.method).__doc__

    @property
    def _plain(self):
        item = self.generator.item()
        item = self.generator.current if item is None else item
        return getattr(super(type(self.generator.current), item), self.method)


class DrawsFloat(Drawing):
    """Stands for `random`."""

    method = "random"

    def __call__(self):
        return self.generator.current.random()


class DrawsBits(Drawing):
    """Stands for `getrandbits`."""

    method = "getrandbits"

    def __call__(self, k):
        return self.generator.current.getrandbits(k)


# A program that asks finds the type of what they stand for.
for kind in (DrawsFloat, DrawsBits):
    kind.__name__ = kind.__qualname__ = "builtin_function_or_method"
    kind.__module__ = "builtins"


class Shared(Switched):
    """The generator of the module. A program keeps functions of the module's, and no attribute of the instance.

    So `random.choice` and its like draw by the methods of C of the current state itself.
    """

    def put(self, state):
        super().put(state)
        self.namespace["random"], self.namespace["getrandbits"] = state.random, state.getrandbits


class MadeRandom(Made, Switched):
    """A generator that the program made."""

    name = "random.Random"


def get_state(state):
    """Return the state of C, whatever stands for it in the class now."""
    return super(type(state), state).getstate()


def set_state(state, values):
    """Set the state of C."""
    super(type(state), state).setstate(values)


def wrap_class(random, streams, shared):
    """Replace, in the class itself, what makes a generator and what hands out its state.

    `shared` is the generator of the module.
    """
    cls = random.Random
    plain_seed, plain_getstate, plain_setstate = cls.seed, cls.getstate, cls.setstate

    @replaces(cls, "seed")
    def seed(self, a=None, *args, **kwargs):
        frame = sys._getframe(1)
        if self is random._inst:

            def plain():
                return plain_seed(shared.live(), a, *args, **kwargs)

            return streams.reseed("random.seed", a, [shared], plain, frame)
        if is_librarys(streams, a, frame):
            return plain_seed(self, a, *args, **kwargs)
        return seed_made(random, streams, self, a, lambda: plain_seed(self, a, *args, **kwargs), frame)

    @replaces(cls, "getstate")
    def getstate(self):
        generator = generator_of(streams, self)
        if generator is None or not streams.controls:
            return plain_getstate(self)
        state = plain_getstate(generator.live())
        generator.hand_out(hash(state[1]))
        return state

    @replaces(cls, "setstate")
    def setstate(self, state):
        generator = generator_of(streams, self)
        if generator is not None:
            streams.repeats.drop(generator)
        if generator is None:
            return plain_setstate(self, state)
        if not streams.controls:
            return streams.put_back(generator, lambda: plain_setstate(self, state))
        if not generator.hand_back(hash(state[1])):
            plain_setstate(generator.live(), state)
            generator.namespace["gauss_next"] = state[2]
        return None


def seed_made(random, streams, instance, seed, plain, frame):
    """Seed a generator of the program."""
    generator = streams.made.get(id(instance))
    if generator is not None:
        return streams.reseed("random.Random.seed", seed, [generator], plain, frame)
    seeded = streams.locate_seed("random.Random", seed, frame)
    key = streams.key(seed, "random.Random")
    if type(instance) is random.Random and is_switched(streams):
        plain()
        generator = MadeRandom(random, streams, instance, key)
        generator.watch(instance)
        generator.seeded = seeded
        generator.start()
    elif streams.controls:
        random.Random.seed.__wrapped__(instance, bound_seed(streams, key))
    else:
        note_unseen(streams)
        plain()
    return None


def generator_of(streams, instance):
    """Return what switches `instance`, None where nothing does."""
    for generator in streams.generators:
        if getattr(generator, "namespace", None) is vars(instance):
            return generator
    return streams.made.get(id(instance))


def is_librarys(streams, seed, frame):
    """Tell whether a generator is a library's own, by a seed it chose or one that must not be derived.

    `tempfile` must not meet its own names again, so nothing of the standard library is derived.
    """
    frame = past_forwarders(frame)
    if frame is None:
        return True
    if streams.callers.is_program(frame):
        return False
    folder = os.path.join(os.path.dirname(os.path.abspath(frame.f_code.co_filename)), "")
    return seed is not None or folder == STANDARD_LIBRARY
