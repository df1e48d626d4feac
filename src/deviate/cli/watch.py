"""``deviate watch``: the page of an experiment while its runs go on."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.completion import experiment_names
from deviate.cli.printing import examples, say
from deviate.replicate.interrupts import StopRequests, end, listening

if TYPE_CHECKING:
    from deviate.replicate.workspace.folders import ExperimentFolder

#: Seconds between two looks at the files in a terminal.
LOOK_EVERY = 2.0

#: Seconds that a page which is being made is waited for.
LEAVES_WITHIN = 5.0


@click.command("watch", epilog=examples("deviate watch", "deviate watch base --open", "deviate watch base --terminal"))
@click.argument("name", required=False, shell_complete=experiment_names)
@click.option("--terminal", is_flag=True, help="Show progress here instead of serving a page.")
@click.option("--open", "opened", is_flag=True, help="Open the page in the browser.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port of the page.  [default: any free one]")
def command(name: str | None, terminal: bool, opened: bool, port: int) -> None:
    """Show the runs of an experiment while they go on.

    Without NAME, that is the newest experiment. The page shows progress, the time left, learning curves as they grow,
    failures with the end of their log, and the report on the runs that have ended. Only this machine can open it, and
    only by the address that is printed. Watching reads files alone: start and stop it at any time. Ctrl-C ends it.
    """
    folder = _find(name)
    with listening() as stop:
        if terminal:
            _show(folder, stop)
        else:
            _serve(folder, port, stop, opened=opened)
    if stop.count:
        say("no longer watching; the runs go on", err=True)
    # Ctrl-C is how it is ended.
    if stop.number != signal.SIGINT:
        stop.obey()


def _find(name: str | None) -> ExperimentFolder:
    from deviate.cli.list import hints, newest_first
    from deviate.errors import UnknownExperiment, WorkspaceUnusable
    from deviate.replicate.workspace.folders import Workspace
    from deviate.results.overview import overviews

    workspace = Workspace.nearest(Path.cwd())
    if name is not None:
        return workspace.find_experiment(name)
    found, unreadable = overviews(workspace)
    if not found and unreadable:
        raise WorkspaceUnusable(unreadable[0].problem, hint=unreadable[0].hint)
    say(*(f"{each.name} cannot be read: {each.problem}" for each in unreadable), *hints(unreadable), err=True)
    if not found:
        raise UnknownExperiment(
            f"no experiment in {workspace.project}", hint="make one, such as deviate run -n 8 -- python train.py"
        )
    return workspace.experiment(newest_first(found)[0]["name"])


def _show(folder: ExperimentFolder, stop: StopRequests) -> None:
    """Print the page again and again until no run is under way; once where this is no terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from deviate.report.pages.live import live_page
    from deviate.report.writers.terminal import print_page, render_terminal
    from deviate.results.live import LiveReader

    reader, console = LiveReader(folder), Console()
    live = reader.read()
    if console.is_terminal and live.going:
        with Live(console=console, transient=True, auto_refresh=False) as screen:
            while live.going and not stop.count:
                text = render_terminal(live_page(live, terminal=True), console.width)
                screen.update(Text(text, no_wrap=True, overflow="crop"), refresh=True)
                stop.wait(LOOK_EVERY)
                live = reader.read()
    print_page(live_page(live, terminal=True), console)


def _serve(folder: ExperimentFolder, port: int, stop: StopRequests, *, opened: bool) -> None:
    from deviate.cli.watch_server import WatchServer
    from deviate.cli.watched import Watched
    from deviate.report.writers.html.bundle import chart_library

    # Better before an address is printed than in answer to it.
    chart_library()
    watched = Watched(folder)
    with WatchServer(port, watched.page, watched.version) as server:
        say(f"watching {folder.name}: {server.address}", "Only this machine can open it. Ctrl-C ends it.")
        if opened:
            import webbrowser

            webbrowser.open(server.address)
        while not stop.count:
            server.handle_request()
    # A thread that computes while Python ends may take the process down with it.
    if not watched.leave(LEAVES_WITHIN):
        end(stop.number)
