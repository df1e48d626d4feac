"""Say what a user submits by hand to have runs made by workers elsewhere; nothing is started."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.core.interrupts import StopRequests
from deviate.core.shell_words import typed_line
from deviate.runs.engines.engine import MOST_AT_ONCE, Printer, hand_over
from deviate.runs.events import Event, Submitted
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.lease import live_holder
from deviate.runs.orders import Order, Submission, read_job
from deviate.runs.prepare import Source
from deviate.runs.todo import Todo, end_leftovers
from deviate.runs.work import Job


class PrintStage:
    """The runs that are still to be made."""

    def __init__(self, source: Source, todo: Todo, printer: Printer, order: Order) -> None:
        self._source = source
        self._todo = todo
        self._printer = printer
        self._order = order

    def recover(self) -> Iterator[Event]:
        """Find out what is to be done and made by nobody; what was printed may be printed again.

        Of two workers of a run one makes it.
        """
        idle = [run for run in self._source.folder.runs() if live_holder(run) is None]
        yield from end_leftovers([run for run in idle if read_job(run) is None], LocalExecutor(1))
        self._todo.find()
        for job in [job for job in self._todo.jobs if live_holder(self._source.folder.run(job.run)) is not None]:
            self._todo.jobs.remove(job)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Store what workers need, and say what starts them."""
        jobs: list[Job] = []
        while (job := (yield from self._todo.take({each.run for each in jobs}))) is not None:
            jobs.append(job)
        for start in range(0, len(jobs), MOST_AT_ONCE):
            submission = hand_over(self._source.folder, self._order, jobs[start : start + MOST_AT_ONCE])
            script = self._printer.script(submission) + submission.note
            yield Submitted(executor=self._printer.name, runs=len(submission.runs), script=script, sent=False)

    def abandon(self, stop: StopRequests) -> None:
        """Leave nothing behind: nothing was started."""


class Workers:
    """Says which command makes each run, for a scheduler that Deviate does not know."""

    name = "workers"
    address = ""

    def __init__(self, threads: int, scratch: str) -> None:
        self.threads = threads
        #: Folder of each machine in which its runs are made; empty: in the experiment's.
        self.scratch = scratch

    def script(self, submission: Submission) -> str:
        """Return a command a line; any machine that sees the project's folder may run any of them."""
        return "".join(f"{typed_line(['deviate-worker', str(run.path)])}\n" for run in submission.runs)
