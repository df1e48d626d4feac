"""Replace functions of a library."""

import functools


def observes(owner, name, observe, first=False):
    """Have ``observe(*args, **kwargs)`` called after ``owner.name``, or before it; it raises nothing of its own."""
    plain = getattr(owner, name)
    if hasattr(plain, "_deviate"):
        return

    @replaces(owner, name)
    def method(*args, **kwargs):
        """Stand for a method of a library: what copies its code finds this text in it."""
        if first:
            observe(*args, **kwargs)
        returned = plain(*args, **kwargs)
        if not first:
            observe(*args, **kwargs)
        return returned


def replaces(owner, name, *others):
    """Return a decorator that replaces ``owner.name``, and the same name in `others`, by a function."""

    def decorate(function):
        functools.update_wrapper(function, getattr(owner, name))
        function._deviate = True
        for holder in (owner, *others):
            setattr(holder, name, function)
        return function

    return decorate
