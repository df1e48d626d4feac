"""Libraries that draw random numbers as they are imported: nothing of the program's."""

from .streams import OTHER


def attend(module, streams):
    """Take the generators as they are now for where the program's draws begin, unless it drew before."""
    if streams.current == OTHER and not streams.fingerprints.of(OTHER).moved:
        streams.fingerprints.overlook(streams.generators)
