"""The ``deviate`` command: its sub-commands and what becomes of an error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

import click

from deviate.cli.commands import CommandGroup
from deviate.cli.printing import examples, say
from deviate.errors import DeviateError, OutputLost, SystemRefused

#: The exit status where the user ended the input instead of answering.
NO_ANSWER = 130


@click.group(
    epilog=examples(
        "deviate run -n 8 -- python train.py    how much do 8 runs differ?",
        "deviate compare base wider             is one better than the other?",
        "deviate                                where this project stands",
    ),
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="deviate-dl", prog_name="deviate")
@click.pass_context
def group(context: click.Context) -> None:
    """Measure how much identical training runs differ."""
    if context.invoked_subcommand is None:
        from deviate.cli.standing import standing_lines

        say(*standing_lines())


def run_command_line() -> int:
    """Do what was typed; return the documented exit status, and never show a traceback for a user's error.

    Raises
    ------
    KeyboardInterrupt
        After a signal, once all is in order and was said.
    """
    from deviate.cli.streams import ReaderGone, drop_output, guard_streams

    guard_streams()
    # Where numbers are larger than can be computed with, the answer says so; `-W` shows the lines of the source.
    if not sys.warnoptions:
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        status = group.main(standalone_mode=False)
        with suppress(ReaderGone):
            sys.stdout.flush()
    except OutputLost as error:
        drop_output()
        _say(error)
        status = error.exit_status
    except DeviateError as error:
        _say(error)
        status = error.exit_status
    except click.ClickException as error:
        # What was typed is in the message.
        vars(error)["message"] = _clean(error.message)
        error.show()
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt) as stop:
        click.echo(_stopped(sys.argv[1:]), err=True)
        signalled = stop if isinstance(stop, KeyboardInterrupt) else stop.__cause__
        if isinstance(signalled, KeyboardInterrupt):
            raise signalled from None
        # A question to which there was no answer.
        status = NO_ANSWER
    except ReaderGone:
        # The reader of our output (head, less) has gone; there is nobody left to tell.
        status = 0
    except OSError as error:
        _say(_refused(error))
        status = SystemRefused.exit_status
    return status or 0


def _refused(error: OSError) -> SystemRefused:
    where = f"{error.filename}: " if error.filename else ""
    return SystemRefused(
        f"{where}{error.strerror or error}",
        hint="runs that have ended are kept; once the cause is gone, the same command continues from here",
    )


def _say(error: DeviateError) -> None:
    slug = click.style(f"  [{error.slug}]", dim=True)
    click.echo(click.style("error: ", fg="red", bold=True) + _clean(error.message) + slug, err=True)
    if error.hint:
        click.echo(click.style("hint:  ", fg="cyan") + _clean(error.hint), err=True)


def _clean(text: str) -> str:
    """Return a message without what a terminal would obey, and without the secrets that were typed or are set."""
    from deviate.replicate.environment.masking import mask_lines, secrets_of
    from deviate.report.escape import clean

    return clean(mask_lines([text], secrets_of(sys.argv, os.environ))[0])


def _stopped(words: Sequence[str]) -> str:
    """Say what Ctrl-C did; of a `run` also that nothing is lost."""
    return "stopped; the same command continues from here" if words[:1] == ["run"] else "stopped"
