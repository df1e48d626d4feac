"""``deviate watch``: the page of an experiment while its runs go on."""

from __future__ import annotations

import secrets
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.options import experiment_names
from deviate.cli.printing import examples, say
from deviate.core.errors import DeviateError
from deviate.core.interrupts import StopRequests, end, listening

if TYPE_CHECKING:
    from deviate.facts.live import LiveExperiment
    from deviate.report.page import Section
    from deviate.store.folders import ExperimentFolder


class Watched:
    """The page of one experiment; made anew only where files have changed, for one request at a time."""

    def __init__(self, folder: ExperimentFolder) -> None:
        from deviate.facts.live import LiveReader

        self._reader = LiveReader(folder)
        self._lock = threading.Lock()
        self._version, self._page = "", ""
        self._ended = 0
        self._report: Sequence[Section] = []

    def version(self) -> str:
        """Return a text that changes with the page."""
        return self._reader.version()

    def page(self) -> str:
        """Return the page as HTML."""
        from deviate.report.topics.live import live_page
        from deviate.report.writers.html import render_html

        with self._lock:
            version = self._reader.version()
            if version != self._version:
                # An experiment that is removed while it is watched leaves the last page.
                with suppress(OSError, DeviateError):
                    self._page = render_html(live_page(self._reader.read(), self._sections()), live=True)
                    self._version = version
            return self._page

    def leave(self, seconds: float) -> bool:
        """Make no page any more; return whether none is being made, at the latest after `seconds`."""
        return self._lock.acquire(timeout=seconds)

    def _sections(self) -> Sequence[Section]:
        """Return the report on the runs that have ended; read anew only where more have, since it takes a second."""
        ended = self._reader.ended()
        if ended != self._ended:
            self._report = _report(self._reader.folder)
            self._ended = ended
        return self._report


def _report(folder: ExperimentFolder) -> Sequence[Section]:
    from deviate.facts.experiment import experiment_facts
    from deviate.facts.stored import read_results
    from deviate.report.views import experiment_view

    try:
        results = read_results(folder, curves=True)
    except (OSError, DeviateError):
        # Files change while they are read; the next look finds them whole.
        return []
    facts = experiment_facts(results, datetime.now().astimezone())
    return experiment_view(facts, results.recorded).page("full").sections


#: Seconds between two looks at the files in a terminal.
LOOK_EVERY = 2.0

#: Seconds that a page which is being made is waited for.
LEAVES_WITHIN = 5.0


@click.command("watch", epilog=examples("deviate watch", "deviate watch base --terminal"))
@click.argument("name", required=False, shell_complete=experiment_names)
@click.option("--terminal", is_flag=True, help="Show progress here instead of serving a page.")
def command(name: str | None, terminal: bool) -> None:
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
            _serve(folder, stop)
    if stop.count:
        say("no longer watching; the runs go on", err=True)
    # Ctrl-C is how it is ended.
    if stop.number != signal.SIGINT:
        stop.obey()


def _find(name: str | None) -> ExperimentFolder:
    from deviate.cli.board import newest_first
    from deviate.cli.list import hints
    from deviate.core.errors import UnknownExperiment, WorkspaceUnusable
    from deviate.facts.overview import overviews
    from deviate.store.folders import Workspace

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
    """Show the screen that `deviate run` shows until no run is under way; once where this is no terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from deviate.cli.live_screen import failure_lines, screen_lines, watched_screen
    from deviate.facts.live import LiveReader

    reader, console = LiveReader(folder), Console()

    def lines(live: LiveExperiment) -> list[str]:
        screen = watched_screen(folder.read_experiment(), live)
        return [*failure_lines(live), *screen_lines(screen, console.width)]

    live = reader.read()
    if console.is_terminal and live.going:
        with Live(console=console, transient=True, auto_refresh=False) as screen:
            while live.going and not stop.count:
                screen.update(Text("\n".join(lines(live)), no_wrap=True, overflow="crop"), refresh=True)
                stop.wait(LOOK_EVERY)
                live = reader.read()
    say(*lines(live))


def _serve(folder: ExperimentFolder, stop: StopRequests) -> None:
    from deviate.report.writers.html import chart_library

    # Better before an address is printed than in answer to it.
    chart_library()
    watched = Watched(folder)
    with WatchServer(0, watched.page, watched.version) as server:
        say(f"watching {folder.name}: {server.address}", "Only this machine can open it. Ctrl-C ends it.")
        while not stop.count:
            server.handle_request()
    # A thread that computes while Python ends may take the process down with it.
    if not watched.leave(LEAVES_WITHIN):
        end(stop.number)


# A page on this machine alone, under an address that nobody guesses.

#: The only address that is listened on: no other machine reaches it.
HOST = "127.0.0.1"

TOKEN_BYTES = 16

#: Seconds between two looks at whether to end, and those that a browser has for a request and for taking the answer.
ANSWER_EVERY = 0.2
PATIENCE = 20.0


class WatchServer(ThreadingHTTPServer):
    """Answers with a page and its version, to those who know the token.

    `port` 0 takes any that is free. `page` returns the page as it is now, `version` a text that changes with it.
    """

    daemon_threads = True
    timeout = ANSWER_EVERY

    def __init__(self, port: int, page: Callable[[], str], version: Callable[[], str]) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.answers = {"": (page, "text/html"), "version": (version, "text/plain")}
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that went away, with half a request or half an answer: they all do."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Answer a request; one without the token, or by another name of this machine, is forbidden."""
        if not self._allowed():
            self._answer(HTTPStatus.FORBIDDEN, "the address is not the one that deviate watch printed")
            return
        make, kind = self.server.answers.get(self.path.split("/", 2)[2], (None, ""))
        if make is None:
            self._answer(HTTPStatus.NOT_FOUND, "no such page")
            return
        self._answer(HTTPStatus.OK, make(), kind)

    def _allowed(self) -> bool:
        """Check the token, and the name by which the machine was asked: a foreign page may point its own name here."""
        _, token, *rest = [*self.path.split("/", 2), ""][:3]
        names = (f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}")
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        return known and bool(rest) and self.path.count("/") >= 2 and self.headers.get("Host") in names

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep requests off the terminal: the address in them is a secret."""
