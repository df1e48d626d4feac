"""The commands as processes: ``deviate``, which is ``python -m deviate``, and ``deviate-worker``."""

from deviate.signals import end_at_once

# Before anything else is read: what takes time to import is imported within the commands.
end_at_once()


def command() -> None:
    """Run the command line."""
    from deviate.cli.main import main

    main()


def worker() -> int:
    """Make one run where an engine has started this process; see `deviate.replicate.worker`."""
    from deviate.replicate.worker import main

    return main()


if __name__ == "__main__":
    command()
