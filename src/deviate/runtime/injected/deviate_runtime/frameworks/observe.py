"""Look on as a method is called. What fails while looking is noted, and the method goes on."""

import functools


def before(observer, owner, name, look):
    """Have ``look(*args)`` called before ``owner.name(*args)``."""
    plain = plain_method(owner, name)
    if plain is None:
        return

    @functools.wraps(plain)
    def method(*args, **kwargs):
        try:
            look(*args, **kwargs)
        except Exception as error:
            observer.failed(error)
        return plain(*args, **kwargs)

    replace(owner, name, method)


def after(observer, owner, name, look):
    """Have ``look(*args)`` called after ``owner.name(*args)``, also where that raised: the values were reported."""
    plain = plain_method(owner, name)
    if plain is None:
        return

    @functools.wraps(plain)
    def method(*args, **kwargs):
        try:
            return plain(*args, **kwargs)
        finally:
            try:
                look(*args, **kwargs)
            except Exception as error:
                observer.failed(error)

    replace(owner, name, method)


def plain_method(owner, name):
    """Return a method that is not looked on yet, None where there is none."""
    plain = getattr(owner, name, None)
    return None if hasattr(plain, "_deviate") else plain


def replace(owner, name, method):
    """Put `method` in the place of the one it calls."""
    method._deviate = True
    setattr(owner, name, method)
