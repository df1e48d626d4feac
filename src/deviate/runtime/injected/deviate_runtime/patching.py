"""Replace functions of a library."""

import functools


def replaces(owner, name, *others):
    """Return a decorator that replaces ``owner.name``, and the same name in `others`, by a function."""

    def decorate(function):
        functools.update_wrapper(function, getattr(owner, name))
        function._deviate = True
        for holder in (owner, *others):
            setattr(holder, name, function)
        return function

    return decorate
