"""``deviate mcp``: the commands as tools of the Model Context Protocol (MCP), over standard input and output.

A client is heard in a thread; its calls are done one by one in the main thread, where signals are heard.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import math
import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import click
import msgspec

import deviate
from deviate.cli.main import BeforeCommand, refused, without_secrets
from deviate.cli.printing import examples
from deviate.core.errors import BadOption, DeviateError, NotInstalled
from deviate.core.interrupts import Stopped, ask_all
from deviate.core.shell_words import typed_line
from deviate.store.folders import Workspace

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext as Context
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams


@click.command(
    "mcp",
    cls=BeforeCommand,
    epilog=examples(
        "deviate mcp --project digits       a client trains scripts of the project",
        "deviate mcp -- torchrun train.py   a client trains what begins so",
    ),
)
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]")
@click.option("--project", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Root of the project.")
def command(words: tuple[str, ...], project: Path | None) -> None:
    """Serve these commands to a program, by the Model Context Protocol.

    The program starts this command and talks to it over standard input and output. It may train Python and shell
    scripts of the project; with COMMAND, what begins with these words and nothing else.
    """
    workspace = Workspace(project.resolve()) if project else Workspace.nearest(Path.cwd())
    os.chdir(workspace.project)
    Desk(workspace, words).serve()


# The tools: a function is one, and its arguments those behind the first. It returns a view, or JSON and words.
Strings = tuple[str, ...]
Words = Annotated[Strings, msgspec.Meta(description='What trains, word by word: ["python", "train.py"]. No shell.')]
Runs = Annotated[int, msgspec.Meta(ge=1, description="How many, those that are there counted in.")]
Values = Annotated[tuple[float | None, ...], msgspec.Meta(description="Of all runs, in their order; null: it failed.")]


def run(
    desk: Desk, command: Words, runs: Runs = 10, vary: Strings = (), name: str | None = None, until: str | None = None
) -> Any:
    """Train a command several times and say how much the runs differ. A repeated call goes on, or adds runs."""
    ran = deviate.run(desk.training(command), runs, vary=vary, name=name, until=until, **desk.options)
    return ran.report(curves=False)


def baseline(
    desk: Desk,
    command: Words = (),
    experiment: str | None = None,
    values: Values = (),
    runs: Runs = 10,
    metric: str | None = None,
    better: Literal["higher", "lower"] | None = None,
    spread: bool = False,
) -> Any:
    """Measure the floor of noise that `judge` holds changes against: a command, an experiment, or values of runs."""
    asked: Any = {"metric": metric, "better": better, "spread": spread}
    return deviate.baseline(n=runs, **asked, **desk.judged(command, experiment, values))


def judge(desk: Desk, command: Words = (), experiment: str | None = None, values: Values = ()) -> Any:
    """Keep a change, discard it or run more: the project as it is now, an experiment, or the values of its runs."""
    return deviate.judge(**desk.judged(command, experiment, values))


def compare(desk: Desk, experiments: Strings, metrics: Strings = (), margins: dict[str, float] | None = None) -> Any:
    """Test whether the second of two experiments is better; rank several; or the cells of a grid, which one names."""
    from deviate.cli.compare import grid_of, names_grid

    asked: Any = {"metrics": metrics, **({"margins": margins} if margins else {})}
    return grid_of(experiments, asked) if names_grid(experiments) else deviate.compare(*experiments, **asked)


def report(desk: Desk, experiment: str) -> Any:
    """Say how much the runs of an experiment differ, and why."""
    return deviate.load(experiment).report(curves=False)


def diverge(desk: Desk, command: Words = (), experiment: str | None = None, pair: tuple[int, int] = (0, 1)) -> Any:
    """Find the operation or line at which two trainings of a command first part, or two runs of an experiment."""
    from deviate.cli.diverge import stored, trained
    from deviate.report.views import page_view

    if experiment is not None and command:
        raise BadOption("a command parts, or an experiment: not both", hint="leave out `command` or `experiment`")
    if experiment is None:
        return page_view(trained(desk.training(command), as_it_is=False))
    return page_view(stored([experiment, *map(str, pair)]))


def list_(desk: Desk) -> Any:
    """List the experiments of the project, the best first."""
    from deviate.cli.board import project_board
    from deviate.cli.list import list_json, unread_rows
    from deviate.facts.overview import overviews

    found, unreadable = overviews(desk.workspace)
    rows = project_board(desk.workspace, found) if found else ["no experiment here yet"]
    return list_json(found, unreadable), "\n".join([*rows, *unread_rows(unreadable)])


TOOLS = {tool.__name__.rstrip("_"): tool for tool in (run, baseline, judge, compare, report, diverge, list_)}


def _arguments(tool: Callable[..., Any]) -> type[msgspec.Struct]:
    hints, (_, *parameters) = get_type_hints(tool, include_extras=True), inspect.signature(tool).parameters.values()
    fields: Any = [(each.name, hints[each.name], each.default) for each in parameters]
    required = [field[:2] if field[2] is inspect.Parameter.empty else field for field in fields]
    return msgspec.defstruct("Arguments", required, kw_only=True, forbid_unknown_fields=True)


def _read(call: CallToolRequestParams) -> dict[str, Any]:
    """Return the arguments of a call; raise `BadOption` if they are not those of its tool."""
    tool = _arguments(TOOLS[call.name])
    try:
        return msgspec.structs.asdict(msgspec.convert(call.arguments or {}, tool))
    except msgspec.ValidationError as wrong:
        hint = f"{call.name} takes {', '.join(tool.__struct_fields__) or 'nothing'}, each as its schema says"
        raise BadOption(f"{call.name}: {wrong}", hint=hint) from wrong


def _said(answer: Any) -> tuple[str, str]:
    from deviate.report.writers import contracts, registry, terminal

    if isinstance(answer, tuple):
        return answer
    known = {"ExperimentFacts": "experiment_json", "Comparison": "comparison_json", "Grid": "grid_json"}
    write = getattr(contracts, known.get(type(answer.facts).__name__, ""), registry.facts_json)
    return write(answer.facts), terminal.render_terminal(answer.page("screen"))


class Desk:
    """Where calls wait to be done; `begins` are the words with which a training must begin, if there are any."""

    def __init__(self, workspace: Workspace, begins: Sequence[str]) -> None:
        self.workspace, self._begins = workspace, tuple(begins)
        self.options: dict[str, Any] = {"project": workspace.project}
        self._calls: queue.SimpleQueue[tuple[CallToolRequestParams, Any, Future[Any]] | None] = queue.SimpleQueue()
        self._is_dropped = False

    def judged(self, words: Strings, experiment: str | None, values: Values) -> dict[str, Any]:
        """Return a training that may be started, an experiment that is there, or values, as Python takes them."""
        from deviate.facts.stored import find_experiment

        if experiment is not None:
            find_experiment(self.workspace, experiment)
        runs = (experiment, *words) if experiment is not None else words and self.training(words)
        return {**self.options, "runs": runs, "values": [math.nan if value is None else value for value in values]}

    def training(self, words: Strings) -> Strings:
        """Return the words of a training that a client may start, or raise `BadOption`."""
        from deviate.source.entry import is_script_of

        begins = words[: len(self._begins)] == self._begins
        if begins if self._begins else is_script_of(words, self.workspace.project):
            return words
        must = (
            f"begin with {typed_line(self._begins)}" if self._begins else "be a Python or shell script of the project"
        )
        raise BadOption(f"a command must {must}: {typed_line(words)!r}", hint="others need deviate mcp -- COMMAND")

    def serve(self) -> None:
        """Do what a client asks for, until it goes."""
        try:
            from mcp.server import Server
            from mcp_types import CallToolResult
        except ImportError as missing:
            raise NotInstalled("the package 'mcp' is missing", hint="type: pip install 'mcp>=2'") from missing
        server = Server("deviate", version=version("deviate-dl"), on_list_tools=_list, on_call_tool=self._call)
        threading.Thread(target=lambda: asyncio.run(self._hear(server)), daemon=True).start()
        while (waiting := self._calls.get()) is not None:
            call, self.options["progress"], result = waiting
            if result.set_running_or_notify_cancel():
                self._is_dropped = False
                try:
                    result.set_result(CallToolResult(**self._do(call)))
                except Exception as bug:  # noqa: BLE001 - the client hears of it, and the next call goes on
                    result.set_exception(bug)
                except Stopped:
                    if not self._is_dropped:
                        raise

    def _do(self, call: CallToolRequestParams) -> dict[str, Any]:
        words: Strings = ()
        try:
            if call.name not in TOOLS:
                raise BadOption(f"there is no tool {call.name!r}", hint=f"call one of: {', '.join(TOOLS)}")
            arguments = _read(call)
            words = arguments.get("command", ())
            json, text = _said(TOOLS[call.name](self, **arguments))
            facts, is_error = msgspec.json.decode(json), False
        except (DeviateError, OSError) as wrong:
            error = refused(wrong) if isinstance(wrong, OSError) else wrong
            facts = {name: without_secrets(getattr(error, name), words) for name in ("slug", "message", "hint")}
            text, is_error = "\n".join(facts.values()), True
        return {"content": [{"type": "text", "text": text}], "structured_content": facts, "is_error": is_error}

    async def _hear(self, server: Any) -> None:
        from mcp.server.stdio import stdio_server

        try:
            async with stdio_server() as streams:
                await server.run(*streams, server.create_initialization_options())
        finally:
            self._drop()
            self._calls.put(None)

    def _drop(self) -> None:
        """Stop the training that goes on: nobody waits for it. Runs that have ended are kept."""
        self._is_dropped = True
        ask_all()

    async def _call(self, context: Context, call: CallToolRequestParams) -> CallToolResult:
        loop, numbers, result = asyncio.get_running_loop(), itertools.count(1), Future[Any]()

        def tell(text: str) -> None:
            report = context.session.report_progress(next(numbers), message=text.splitlines()[-1])
            asyncio.run_coroutine_threadsafe(report, loop)

        self._calls.put((call, tell, result))
        try:
            done: CallToolResult = await asyncio.wrap_future(result)
            return done
        except asyncio.CancelledError:
            if result.running():
                self._drop()
            raise


async def _list(context: Context, page: PaginatedRequestParams | None) -> ListToolsResult:
    from mcp_types import ListToolsResult, Tool

    schemas = {name: msgspec.json.schema(_arguments(tool))["$defs"]["Arguments"] for name, tool in TOOLS.items()}
    tools = [Tool(name=name, description=TOOLS[name].__doc__, input_schema=schemas[name]) for name in TOOLS]
    return ListToolsResult(tools=tools)
