"""Replace functions of a library.

Tell a failure of the runtime from an exception that is the program's own.

Tell files of installed libraries from those of programs.
"""

import _signal  # what the module `signal` is made of: built in, and thirty times faster to call
import functools
import os
import types


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
        instead = standing(getattr(owner, name), function, owner)
        for holder in (owner, *others):
            setattr(holder, name, instead)
        return instead

    return decorate


def standing(plain, function, owner=None):
    """Return what is put in the place of `plain` for `function` to be called: a program cannot tell the two apart.

    In a class it is a function, which becomes a method.
    """
    if isinstance(plain, types.FunctionType) or isinstance(owner, type):
        functools.update_wrapper(function, plain)
        function._deviate = True
        return function
    # A class for each: what is called is then `function` itself, without a frame of Python's in between.
    kind = type(plain)
    return type(kind.__name__, (Stand,), {"__module__": kind.__module__, "__call__": staticmethod(function)})(plain)


class Stand:
    """Stands for a callable that is no function of Python's: it looks, binds, compares and is pickled as that one."""

    _deviate = True

    def __init__(self, plain):
        self._plain = plain
        # Those that every class has for its instances.
        self.__module__, self.__doc__ = plain.__module__, plain.__doc__

    __class__ = property(lambda self: type(self._plain))

    @property
    def __signature__(self):
        import inspect

        return inspect.signature(self._plain)

    def __getattr__(self, name):
        return getattr(self._plain, name)

    def __dir__(self):
        return dir(self._plain)

    def __repr__(self):
        return repr(self._plain)

    def __reduce_ex__(self, protocol):
        return self._plain.__reduce_ex__(protocol)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __get__(self, instance, owner=None):
        # Callables of C stay what they are where a class holds one, but for Cython's and methods' of classes.
        if instance is None or isinstance(self._plain, types.MethodType) or not hasattr(self._plain, "__get__"):
            return self
        return types.MethodType(self, instance)


def raised_by_handler(error):
    """Tell whether `error` came from a signal handler of the program that ran while the runtime did.

    Such an exception (a time limit, say) is meant for the program and must reach it.
    """
    codes = handler_codes()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def handler_codes():
    """Return the code objects of the program's signal handlers."""
    handlers = [_signal.getsignal(number) for number in range(1, _signal.NSIG)]
    functions = [getattr(handler, "__func__", handler) for handler in handlers]
    return {function.__code__ for function in functions if hasattr(function, "__code__")}


LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
STANDARD_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
REAL_LIBRARY = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")

#: Whether libraries are installed in a folder, by folder.
INSTALLED = {}


def is_library_file(path):
    """Tell whether a file belongs to an installed library or to Python."""
    return path.startswith((STANDARD_LIBRARY, REAL_LIBRARY)) or inside_library(path) is not None


def inside_library(path):
    """Return the path of a file within the folder that libraries are installed in, None where it is elsewhere."""
    path = path.replace(os.sep, "/")
    return next((path.rpartition(folder)[2] for folder in LIBRARY_FOLDERS if folder in path), None)


def is_installed(path):
    """Tell whether a file outside the project is of a library that lies elsewhere: ``pip install --target``."""
    folder = os.path.dirname(path)
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    if folder not in INSTALLED:
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        INSTALLED[folder] = any(name.endswith(".dist-info") for name in names)
    return INSTALLED[folder]
