"""A page on this machine alone, under an address that nobody guesses."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: The only address that is listened on: no other machine reaches it.
HOST = "127.0.0.1"

#: Bytes of the token in the address.
TOKEN_BYTES = 16

#: Seconds between two looks at whether to end, and those that a browser has for a request and for taking the answer.
LOOK_EVERY = 0.2
PATIENCE = 20.0


class WatchServer(ThreadingHTTPServer):
    """Answers with a page and its version, to those who know the token.

    `port` 0 takes any that is free. `page` returns the page as it is now, `version` a text that changes with it.
    """

    daemon_threads = True
    timeout = LOOK_EVERY

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
