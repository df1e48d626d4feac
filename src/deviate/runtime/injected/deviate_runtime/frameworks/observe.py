"""Look on as a method is called."""

import functools


def before(owner, name, look):
    """Have ``look(*args)`` called before ``owner.name(*args)``."""
    plain = getattr(owner, name, None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def method(*args, **kwargs):
        look(*args, **kwargs)
        return plain(*args, **kwargs)

    method._deviate = True
    setattr(owner, name, method)


def after(owner, name, look):
    """Have ``look(*args)`` called after ``owner.name(*args)``, also where that raised: the values were reported."""
    plain = getattr(owner, name, None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def method(*args, **kwargs):
        try:
            return plain(*args, **kwargs)
        finally:
            look(*args, **kwargs)

    method._deviate = True
    setattr(owner, name, method)
