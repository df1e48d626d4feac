"""The command line in processes of its own that are forked from one which has imported what a report takes.

How the tool starts and what it imports when is not shown by them; what it writes and says, and how it ends, is.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
from pathlib import Path

from cli_tool import Done

from deviate.cli.progress import MODULES

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["deviate.cli.main", "deviate.cli.run", "deviate.cli.compare", *MODULES])


class Tool:
    """A command that was started; as of `subprocess.Popen`."""

    def __init__(self, words, *, stdout=None, stderr=None):
        self.folder = Path(tempfile.mkdtemp(prefix="deviate-tool-"))
        self.outputs = (stdout or self.folder / "stdout", stderr or self.folder / "stderr")
        place = (os.getcwd(), dict(os.environ))
        self.process = CONTEXT.Process(target=_serve, args=(list(map(str, words)), *place, self.outputs))
        self.process.start()
        self.pid = self.process.pid
        self.said = None

    @property
    def returncode(self):
        return self.process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.process.kill()

    def communicate(self, timeout=None):
        """Wait for the end; return what was written to each output."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it has not ended"
        if self.said is None:
            self.said = tuple(path.read_text() if path.exists() else "" for path in self.outputs)
            shutil.rmtree(self.folder)
        return self.said


def start(*words, **outputs):
    """Start ``deviate WORDS`` here; output goes to the end of the files that are given."""
    return Tool(words, **outputs)


def run(*words, **outputs):
    """Run ``deviate WORDS`` here to its end."""
    tool = start(*words, **outputs)
    out, err = tool.communicate(timeout=120)
    return Done(tool.returncode, out, err)


def _serve(words, folder, variables, outputs):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in enumerate(outputs, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.argv = ["deviate", *words]
    from deviate.__main__ import command

    command()
