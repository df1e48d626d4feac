"""Libraries that draw random numbers as they are imported: nothing of the program's."""

from .streams import OTHER

#: Those that draw from generators which the program draws from, too.
FROM_SHARED = ("rich.style", "jax", "keras")


def attend(module, streams):
    """Take the generators as they are now for where the program's draws begin; shared ones unless it drew before."""
    own = [generator for generator in streams.made.values() if generator.seeded is None]
    streams.fingerprints.overlook(own)
    drew = streams.current != OTHER or streams.fingerprints.of(OTHER).moved
    if module.__name__ in FROM_SHARED and not drew:
        streams.fingerprints.overlook(streams.generators)
