"""The commands as processes: ``python -m deviate``, which is ``deviate``, and ``deviate-worker``."""

from deviate.cli import main
from deviate.signals import end_at_once


def worker() -> int:
    """Make one run where an engine has started this process; see `deviate.replicate.worker`."""
    end_at_once()
    # Only then what takes time to import.
    from deviate.replicate.worker import main

    return main()


if __name__ == "__main__":
    main()
