"""Parameters that an optimizer of Optax is initialised with: the weights before the first update."""

import functools
import sys
import zlib

from ...patching import replaces


def watch_optimizers(module, streams):
    """Look at what each optimizer of Optax is initialised with."""
    for name in ("GradientTransformation", "GradientTransformationExtraArgs"):
        cls = getattr(module, name, None)
        if cls is not None and not hasattr(cls.__new__, "_deviate"):
            wrap_new(cls, Initial(streams))


def wrap_new(cls, initial):
    """Look at what the optimizers of a class are initialised with."""
    plain = cls.__new__

    @replaces(cls, "__new__")
    def __new__(cls, init, *args, **kwargs):
        return plain(cls, initial.watched(init), *args, **kwargs)


class Initial:
    """The fingerprint of initial weights."""

    #: One digest for all optimizers of the process.
    digest = 0
    count = 0
    #: True within an optimizer that is made of others.
    inside = False

    def __init__(self, streams):
        self.streams = streams

    def watched(self, init):
        """Return `init`, seen from outside."""
        if hasattr(init, "_deviate"):
            return init

        @functools.wraps(init)
        def watched(params, *args, **kwargs):
            if Initial.inside:
                return init(params, *args, **kwargs)
            Initial.inside = True
            try:
                self.add(params)
                return init(params, *args, **kwargs)
            finally:
                Initial.inside = False

        watched._deviate = True
        return watched

    def add(self, params):
        """Take the parameters into the digest, unless they are only traced."""
        try:
            jax = sys.modules["jax"]
            leaves = jax.tree_util.tree_leaves(params)
            if not leaves or any(not hasattr(x, "dtype") or isinstance(x, jax.core.Tracer) for x in leaves):
                return
            numpy = sys.modules["numpy"]
            for leaf in leaves:
                array = numpy.ascontiguousarray(numpy.asarray(leaf)).reshape(-1)
                Initial.digest = zlib.crc32(memoryview(array.view(numpy.uint8)), Initial.digest)
            Initial.count += len(leaves)
            self.streams.fingerprints.write_content("init", Initial.digest, Initial.count, "first")
        except Exception as error:
            self.streams.process.events.note("weights-unseen", "optax: %r" % (error,), "optax")
