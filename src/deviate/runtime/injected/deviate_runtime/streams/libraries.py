"""What the parts for Keras, TensorFlow, JAX and scikit-learn have in common."""

import functools
import sys

from .derive import mix, text_of
from .streams import AUGMENT, DATA, LAYERS, OTHER

INIT = "init"
SHUFFLE = "shuffle"

#: Factors in whose midst parameters are initialised all the same.
ALL_BUT_DATA = (OTHER, LAYERS, AUGMENT, SHUFFLE)

#: Places that are told of one library.
MOST_PLACES = 16

#: Seeds of 31 bits fit whatever a library keeps them in.
SEED_LIMIT = 2**31


class Derived(int):
    """A seed that was derived already."""


def derived(streams, factor, given, unseeded="clock"):
    """Return the seed of `factor` that takes the place of the one that the program gives."""
    return Derived(streams.seed(factor, streams.key(given, unseeded)) % SEED_LIMIT)


def keeps_given(streams, factor):
    """Tell whether seeds given for `factor` stay: the data are held fixed by the author's own."""
    return not streams.controls or (factor == DATA and DATA not in streams.varying)


def boundary(streams, factor, function, over=(OTHER,)):
    """Return `function` with its draws made for `factor`, wherever one of `over` draws as it is called."""
    inside = streams.within(factor, function)

    @functools.wraps(function)
    def at_boundary(*args, **kwargs):
        return (inside if streams.current in over else function)(*args, **kwargs)

    at_boundary._deviate = True
    return at_boundary


def bound_method(streams, owner, name, factor, over=(OTHER,)):
    """Have a method of `owner` draw for `factor`."""
    plain = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name, None)
    if callable(plain) and not hasattr(plain, "_deviate"):
        setattr(owner, name, boundary(streams, factor, plain, over))


def each(streams, factor, iterator):
    """Yield what `iterator` does, each item drawn for `factor`."""
    while True:
        before = streams.enter(factor)
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            streams.leave(before)
        yield item


def tell_seed(streams, factor, generator, call, given, frame):
    """Say that a seed given at a place decides draws of `factor`, however many libraries handed it on."""
    place = outside(streams, frame)
    replaced = not keeps_given(streams, factor)
    seeded = streams.place(call, given, place, replaced) if place is not None else None
    tell_source(streams, factor, generator, seeded)
    streams.fingerprints.drawn(factor, mix(text_of(given), *seed_parts(streams, factor)))


def seed_parts(streams, factor):
    """Return what a draw of `factor` depends on beside what the program gives."""
    return () if keeps_given(streams, factor) else (streams.seeds[factor],)


def tell_source(streams, factor, generator, seeded):
    """Take down where draws of `factor` were seeded: each place has an entry of its own, up to a few."""
    sources = streams.fingerprints.of(factor).sources
    for number in range(1, MOST_PLACES + 1):
        name = generator if number == 1 else "%s %d" % (generator, number)
        if name not in sources or place_of(sources[name]) == place_of(seeded):
            sources[name] = seeded
            return


def place_of(seeded):
    """Return what tells a place that seeds from others."""
    return None if seeded is None else (seeded["call"], seeded["file"], seeded["line"])


def outside(streams, frame):
    """Return the first frame of the program's, None where there is none."""
    while frame is not None and not streams.callers.is_program(frame):
        frame = frame.f_back
    return frame


def replace_everywhere(plain, function, library):
    """Put `function` into the place of `plain` in the modules of `library` that have imported it by name."""
    name = plain.__name__
    for known, module in list(sys.modules.items()):
        if known.partition(".")[0] == library and vars(module).get(name) is plain:
            setattr(module, name, function)


def attribute(module, path):
    """Return ``module.path``, None where a version of the library lacks it."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module
