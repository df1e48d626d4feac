"""The ``deviate`` command: its sub-commands and what becomes of an error."""

from __future__ import annotations

import difflib
import gc
import importlib
import keyword
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import click

from deviate.cli.printing import examples, say
from deviate.core.errors import DeviateError, OutputLost, SystemRefused
from deviate.core.shell_words import typed_line

# The sub-commands of ``deviate``, in groups, each imported only when it is used.

#: Group: its sub-commands, in the order of ``deviate --help``. Each is a module of deviate.cli, those of Keep one.
GROUPS = {
    "Train": ("run", "audit", "certify", "diverge", "extract", "import"),
    "Read results": ("list", "watch", "show", "logs", "report", "why"),
    "Decide": ("compare", "check", "baseline", "judge", "mcp", "plan"),
    "Keep": ("prune", "rm", "mv", "export"),
    "Set up": ("init", "doctor"),
}

COMMANDS = tuple(name for names in GROUPS.values() for name in names)


class BeforeCommand(click.Command):
    """A sub-command whose own options stand before the ``--`` that begins a command of the user's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; of an option that is none of Deviate's, say where one of the user's belongs.

        Several values may follow an option that can be repeated: ``--vary init shuffle -- COMMAND``.

        Raises click.NoSuchOption with the option that was typed.
        """
        typed = typed_line(args[args.index("--") + 1 :]) if "--" in args else ""
        try:
            return super().parse_args(ctx, self._repeated(args) if typed else args)
        except click.NoSuchOption as error:
            command = f"{typed or 'python train.py'} {error.option_name}"
            vars(error)["fix"] = f"put an option of your own command behind --: deviate {self.name} -- {command} …"
            raise

    def _repeated(self, args: Sequence[str]) -> list[str]:
        """Put a repeatable option before each of its values but those that are programs, which begin the command."""
        import shutil

        several = {name for option in self.params if vars(option).get("multiple") for name in option.opts}
        end = args.index("--")
        words: list[str] = []
        last = option = ""
        for word in args[:end]:
            if last in several:
                option = last
            elif word.startswith("-") or shutil.which(word):
                option = ""
            elif option:
                words.append(option)
            words.append(word)
            last = word
        return [*words, *args[end:]]


def _parse_once(
    command: click.Command, parse: Callable[[click.Context, list[str]], list[str]], ctx: click.Context, args: list[str]
) -> list[str]:
    """Parse the words of a command; refuse a second value of an option, which would replace the first in silence."""
    typed: list[click.Parameter] = []
    # What else is wrong with the words is said when they are parsed.
    with suppress(click.UsageError):
        typed = command.make_parser(ctx).parse_args(args=list(args))[2]
    for option, times in Counter(typed).items():
        if times > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count):
            raise click.UsageError(f"{option.opts[-1]} is typed {times} times and has one value: leave one.", ctx)
    return parse(ctx, args)


class CommandGroup(click.Group):
    """A group that imports a sub-command's module when it is used, and names the nearest one for a wrong name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all sub-commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of sub-command `name`."""
        if name not in COMMANDS:
            return None
        if name in GROUPS["Keep"]:
            command = getattr(importlib.import_module("deviate.cli.keep"), name)
        else:
            # `import` is a word of the language, so its module is called `import_`.
            module = f"{name}_" if keyword.iskeyword(name) else name
            command = importlib.import_module(f"deviate.cli.{module}").command
        assert isinstance(command, click.Command)
        vars(command).setdefault("parse_args", partial(_parse_once, command, command.parse_args))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sub-commands under the heads of their groups, in columns that are equally wide in all."""
        width = max(map(len, COMMANDS))
        for head, names in GROUPS.items():
            with formatter.section(head):
                formatter.write_dl([(name.ljust(width), self._summary(ctx, name)) for name in names])

    def _summary(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(limit=120)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the sub-command that was typed.

        Raises click.UsageError if there is none of that name, with the nearest one.
        """
        name = args[0]
        if name.startswith("-") or name in COMMANDS:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        raise click.UsageError(f"no command {name!r}{f'; did you mean {near[0]!r}?' if near else ''}", ctx)


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

    Raises KeyboardInterrupt after a signal, once all is in order and was said.
    """
    from deviate.cli.printing import ReaderGone, drop_output, guard_streams

    guard_streams()
    # Where numbers are larger than can be computed with, the answer says so; `-W` shows the lines of the source.
    if not sys.warnoptions:
        warnings.simplefilter("ignore", RuntimeWarning)
    if "_DEVIATE_COMPLETE" in os.environ:
        from deviate.cli.options import complete_whole_words

        complete_whole_words()
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
        _say_usage(error)
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
        _say(refused(error))
        status = SystemRefused.exit_status
    return status or 0


def refused(error: OSError) -> SystemRefused:
    """Return what to say of what the system refused."""
    where = f"{error.filename}: " if error.filename else ""
    return SystemRefused(
        f"{where}{error.strerror or error}",
        hint="runs that have ended are kept; once the cause is gone, the same command continues from here",
    )


#: What begins the two lines of an error.
ERROR, FIX = "error: ", "fix:   "


def _say(error: DeviateError) -> None:
    """Say what is wrong and what to type; the slug where all that is known is asked for."""
    asked = {"-v", "--verbose", "--json"}.intersection(_own_words(sys.argv))
    _say_both(error.message, error.hint, f"  [{error.slug}]" if asked else "")


def _own_words(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _say_usage(error: click.ClickException) -> None:
    message = error.format_message().removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    typed = ["deviate", *([context.info_name or ""] if context and context.parent else []), "--help"]
    fix = " ".join(typed) if context and "did you mean" not in message.lower() else ""
    _say_both(message[:1].lower() + message[1:], vars(error).get("fix", fix))


def _say_both(message: str, fix: str, slug: str = "") -> None:
    click.echo(click.style(ERROR, fg="red", bold=True) + _hanging(message) + click.style(slug, dim=True), err=True)
    if fix:
        click.echo(click.style(FIX, fg="cyan") + _hanging(fix), err=True)


def _hanging(text: str) -> str:
    """Break a text at the width of a terminal, each line below the first one's beginning; elsewhere it is one line."""
    text = without_secrets(text, sys.argv)
    if not sys.stderr.isatty():
        return text
    import shutil
    import textwrap

    width = max(shutil.get_terminal_size().columns - len(ERROR), len(ERROR))
    lines = [
        part
        for line in text.splitlines()
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    ]
    return f"\n{' ' * len(ERROR)}".join(lines)


def without_secrets(text: str, words: Sequence[str]) -> str:
    """Return a message without what a terminal would obey, and without secrets that `words` have or that are set."""
    from deviate.core.secrets import mask_lines, secrets_of
    from deviate.report.escape import clean

    return clean(mask_lines([text], secrets_of(words, os.environ))[0])


def _stopped(words: Sequence[str]) -> str:
    return "stopped; the same command continues from here" if words[:1] == ["run"] else "stopped"


# The ``deviate`` command as a process: what signals do to it, and how it ends.

#: Objects after which garbage is looked for.
GARBAGE = 100_000


def main() -> None:
    """Run the command line; end with its exit status, or by the signal that ended it."""
    # Importing makes many objects and no garbage: looking for some takes a tenth of the time of a short command.
    gc.set_threshold(GARBAGE)
    # Reports say what is too large for a 64-bit float; a line of our source says nothing to anybody.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(deviate|numpy|scipy|pandas)\b")
    from deviate.core.interrupts import end, number_of

    try:
        status = run_command_line()
    except KeyboardInterrupt as stop:
        end(number_of(stop))
    sys.exit(status)
