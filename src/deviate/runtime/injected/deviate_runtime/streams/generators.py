"""What all generators have in common: one state per factor."""

import abc
import collections
import sys
import types
import weakref

from ..factors import OTHER
from .seeds import is_whole, mix

#: States that were handed to the program and may be handed back.
SNAPSHOTS = 1024

#: Generator objects of the program that are switched; those it makes beyond draw for the factor that made them.
MADE_LIMIT = 64


class Generator:
    """A generator with one state per factor.

    A subclass defines how the live state is read (`live`), set (`put`), made from a seed (`fresh`), copied (`copy`) and
    identified (`mark`). What a state is, is its own affair.

    Attributes
    ----------
    name : str
        What it is called in a fingerprint's sources.
    key : tuple
        What it was last seeded with.
    seeded : dict or None
        Where; None where the program did not.
    made : dict or None
        Where the program had it made, if nothing seeds it.
    at : str
        Factor whose state is live.
    planted : bool
        Whether the live state is one of ours, and not what a library seeded for its own purposes.
    """

    name = ""

    #: False: a child process that is not forked makes its states itself.
    restarts_in_child = True

    #: True: it lies on a device, which a forked child cannot use once its parent has started it.
    is_on_device = False

    def __init__(self, streams, key=None):
        self.streams = streams
        self.key = key or (*streams.lineage, "start")
        self.states = {}
        self.seeded = self.made = None
        self.at = streams.current
        self.planted = streams.controls
        self.snapshots = collections.OrderedDict()

    def switch(self, factor):
        """Keep the state of one factor and go on with that of another."""
        at = self.at
        if at != factor:
            states = self.states
            state = states[factor] if factor in states else self.state(factor)
            states[at] = self.live()
            self.put(state)
            self.at = factor

    def state(self, factor):
        """Return the state of a factor that does not draw now."""
        if factor not in self.states:
            self.states[factor] = self.fresh(self.streams.seed(factor, self.key))
        return self.states[factor]

    def reset(self, key):
        """Seed every factor's state anew."""
        self.key = key
        self.states = {}
        self.planted = True
        self.streams.fingerprints.restart(self)
        self.plant()

    def plant(self):
        """Go on with the state of the current factor, whatever the live one is."""
        current = self.streams.current
        self.put(self.state(current))
        self.at = current

    def initial_seed(self):
        """Return the seed for a program that reads it: the one it gave, or one that is the same in every run.

        A factor's own seed would carry that factor into whatever the program seeds with it.
        """
        text = self.key[1] if self.key[0] == "given" else ""
        return int(text) if is_whole(text) else mix("initial", *self.key)

    def restart_in_child(self, forked):
        """Begin a stream of its own in a child process that did not inherit the states, unless its modules seeded."""
        if self.restarts_in_child and not forked and self.seeded is None:
            self.reset((*self.streams.lineage, "start"))

    def copy(self, state):
        """Return a state that stays what it is while the generator goes on."""
        return state

    def owns(self, owner, function):
        """Tell whether `function`, a method of `owner`, draws from this generator."""
        return False

    def alone(self, state):
        """Return an object that draws from `state`, and that nothing switches."""
        return state

    def start(self):
        """Begin to be switched, in the state of the current factor."""
        self.streams.fingerprints.restart(self)
        if self.streams.controls:
            self.plant()
        self.streams.fingerprints.rebase([self])
        self.keep()

    def keep(self):
        """Join the generators that are switched."""
        self.streams.generators.append(self)

    def hand_out(self, token):
        """Keep copies of all factors' states under the token of the state that the program receives."""
        if not self.streams.controls:
            return
        self.states[self.at] = self.live()
        copies = {factor: self.copy(state) for factor, state in self.states.items()}
        self.snapshots[token] = (self.at, self.key, self.planted, copies)
        self.snapshots.move_to_end(token)
        while len(self.snapshots) > SNAPSHOTS:
            self.snapshots.popitem(last=False)

    def hand_back(self, token, jump=False):
        """Restore what the state stands for; False where it was not handed out here.

        `jump`: go on with the factor that drew when the state was handed out: a library that computes again what was
        computed then (activation checkpointing) draws for it, wherever it is called from.
        """
        self.streams.repeats.drop(self)
        snapshot = self.snapshots.get(token)
        if not self.streams.controls:
            return False
        if snapshot is None:
            message = "%s: a state of unknown origin is restored for one factor only" % self.name
            self.streams.process.events.note("state-unknown", message, self.name)
            self.streams.fingerprints.seedings = None
            return False
        factor, self.key, self.planted, copies = snapshot
        if jump:
            self.streams.enter(factor)
        self.states = {factor: self.copy(state) for factor, state in copies.items()}
        self.plant()
        return True


class Made:
    """A generator that the program made: switched as long as the program holds the object."""

    def watch(self, item):
        """Remember the object without keeping it."""
        self.number = id(item)
        self.item = weakref.ref(item, lambda _: self.streams.made.pop(self.number, None))

    def keep(self):
        """Join the generators that are switched."""
        self.streams.made[self.number] = self


def is_switched(streams):
    """Tell whether a generator made now is switched; else it draws for the factor that makes it."""
    if streams.controls and not streams.is_first_thread():
        return False  # the first thread is not to switch what another one draws from
    return streams.current == OTHER and not streams.importing and len(streams.made) < MADE_LIMIT


def made_at(streams, frame):
    """Return the line of the program at which a generator is made that nothing seeds, by itself or by a library.

    None where there is none, and while a library is imported.
    """
    while frame is not None and not streams.callers.is_program(frame):
        frame = None if frame.f_code.co_filename.startswith("<frozen importlib") else frame.f_back
    return None if frame is None else dict(streams.callers.line(frame), library=False)


def note_unseen(streams):
    """Note that what draws now may do so from a generator that is not switched: no content of it is undrawn."""
    if streams.current != OTHER:
        streams.fingerprints.of(streams.current).unseen = True


def bound_seed(streams, key):
    """Return the seed of a generator that draws for the factor that makes it."""
    if not streams.is_first_thread():
        seed = streams.seed(OTHER, key)
        streams.threads.add(OTHER, seed)
        return seed
    if streams.importing:
        return streams.seed(OTHER, key)
    seed = streams.seed(streams.current, key)
    streams.fingerprints.add_draw(streams.current, mix(seed))
    return seed


def stand_for(plain):
    """Return the metaclass of a subclass of `plain` that stands in its place: instances of `plain` are its instances.

    Classes that the program derives from it answer for themselves.

    `plain`: a class that cannot be changed itself, being one of C.
    """

    def stands(cls):
        return cls.__base__ is plain and cls.__module__ == plain.__module__

    # Of ABCs, so that a program may derive a class from it and from an abstract one.
    class Stand(abc.ABCMeta if type(plain) is type else type(plain)):
        """Answers for `plain`."""

        __class__ = property(lambda cls: type(plain) if stands(cls) else type(cls))

        def __repr__(self):
            return repr(plain) if stands(self) else type.__repr__(self)

        @property
        def __signature__(self):
            if not stands(self):
                raise AttributeError("__signature__")
            import inspect

            return inspect.signature(plain)

        def __instancecheck__(self, instance):
            return isinstance(instance, plain) if stands(self) else type.__instancecheck__(self, instance)

        def __subclasscheck__(self, other):
            return issubclass(other, plain) if stands(self) else type.__subclasscheck__(self, other)

    Stand.__name__ = type(plain).__name__
    return Stand


def put_in_place(stand, plain, *modules):
    """Put a subclass in the place of `plain`, and where pickles look for that: it has the name, and the text."""
    stand.__module__, stand.__qualname__, stand.__doc__ = plain.__module__, plain.__qualname__, plain.__doc__
    for name, method in vars(stand).items():
        if isinstance(method, types.FunctionType):
            method.__qualname__ = "%s.%s" % (plain.__qualname__, name)
            method.__module__ = getattr(getattr(plain, name), "__module__", None) or plain.__module__
            method.__doc__ = getattr(plain, name).__doc__
    for module in (sys.modules.get(plain.__module__), *modules):
        if getattr(module, plain.__name__, None) is plain:
            setattr(module, plain.__name__, stand)
