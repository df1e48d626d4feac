"""The sub-commands of ``deviate``, in groups, each imported only when it is used."""

from __future__ import annotations

import difflib
import importlib
import keyword
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import click

from deviate.shell_words import typed_line

#: Group: its sub-commands, in the order of ``deviate --help``. Each is a module of deviate.cli.
GROUPS = {
    "Train": ("run", "audit", "extract", "import"),
    "Read results": ("list", "watch", "show", "logs", "report"),
    "Decide": ("compare", "check", "plan"),
    "Keep": ("prune", "rm", "mv", "export"),
    "Set up": ("init", "doctor"),
}

COMMANDS = tuple(name for names in GROUPS.values() for name in names)


class BeforeCommand(click.Command):
    """A sub-command whose own options stand before the ``--`` that begins a command of the user's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; of an option that is none of Deviate's, say where one of the user's belongs.

        Raises
        ------
        click.NoSuchOption
            With the option that was typed.
        """
        typed = typed_line(args[args.index("--") + 1 :]) if "--" in args else ""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            command = f"{typed or 'python train.py'} {error.option_name}"
            # The attribute is final for type checkers alone.
            vars(error)["message"] += (
                f" An option of your own command goes behind --: deviate {self.name} -- {command} …"
            )
            raise


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

        Raises
        ------
        click.UsageError
            If there is none of that name, with the nearest one.
        """
        name = args[0]
        if name.startswith("-") or name in COMMANDS:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        advice = f"Did you mean {near[0]!r}?" if near else "`deviate --help` lists the commands."
        raise click.UsageError(f"There is no command {name!r}. {advice}", ctx)
