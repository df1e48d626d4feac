"""Boundaries: functions that draw for a factor, and libraries that draw as they are imported."""

import functools

from ..factors import OTHER, OUTSIDE
from ..frameworks import every
from ..patching import standing

#: Of code: it is a generator's, which draws when it is asked for its next value.
GENERATOR = 0x20


def patch_rows(module, streams):
    """Have the functions of `module` that the table of boundaries has draw for their factors."""
    for name, paths, factor, within in every("boundaries"):
        for path in paths.split() if name == module.__name__ else ():
            *owners, pattern = path.split(".")
            owner = functools.reduce(lambda outer, inner: getattr(outer, inner, None), owners, module)
            for function in matching(owner, pattern):
                bind(streams, owner, function, factor, within)


def matching(owner, pattern):
    """Return the attributes that `pattern` matches: itself, or all that begin like it where it ends in ``*``."""
    start = pattern.rstrip("*")
    return [pattern] if start == pattern else [name for name in dir(owner) if name.startswith(start)]


def bind(streams, owner, name, factor, within=OUTSIDE):
    """Have a function of `owner` draw for `factor`; a version that lacks it stays as it is."""
    plain = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name, None)
    if callable(plain) and not hasattr(plain, "_deviate"):
        setattr(owner, name, standing(plain, drawing(streams, factor, plain, within), owner))


def drawing(streams, factor, function, within=OUTSIDE):
    """Return `function` with its draws made for `factor` where one of `within` draws as it is called, or always."""
    inside = streams.within(factor, function)
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & GENERATOR:

        def inside(*args, **kwargs):
            return iterate(streams, factor, function(*args, **kwargs))

        functools.update_wrapper(inside, function)
        inside._deviate = True
    if within is None:
        return inside

    @functools.wraps(function)
    def at_boundary(*args, **kwargs):
        return (inside if streams.current in within else function)(*args, **kwargs)

    at_boundary._deviate = True
    return at_boundary


def iterate(streams, factor, iterator, once=False):
    """Yield what `iterator` does, each item drawn for `factor`; `once`: making the first item draws, and no other."""
    draws = True
    while True:
        before = streams.enter(factor) if draws else streams.pass_by(factor)
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            streams.leave(before)
        draws = not once
        yield item


def disregard_all_draws(module, streams):
    """Leave out what a library drew as it was imported, also from shared generators unless the program drew before."""
    streams.fingerprints.rebase([generator for generator in streams.made.values() if generator.seeded is None])
    if streams.current == OTHER and not streams.fingerprints.of(OTHER).count:
        streams.fingerprints.rebase(streams.generators)
