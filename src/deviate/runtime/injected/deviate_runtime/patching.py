"""Put functions into the place of those of a library."""

import functools


def replaces(owner, name, *others):
    """Return a decorator that puts a function into the place of ``owner.name``, and of the same name in `others`."""

    def decorate(function):
        functools.update_wrapper(function, getattr(owner, name))
        function._deviate = True
        for holder in (owner, *others):
            setattr(holder, name, function)
        return function

    return decorate
