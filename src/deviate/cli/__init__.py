"""The command line: one module a command; heavy imports happen inside the command."""

from __future__ import annotations

from deviate.cli.main import main as main
