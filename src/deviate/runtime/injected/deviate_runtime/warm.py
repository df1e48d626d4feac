"""Import frameworks once, and fork each run of a training from that instead of starting Python and importing again.

A parent is started with the options of a run's Python and stops in its `sitecustomize`. What it forks goes on from
there as that Python would have, and runs the module of ``-m``, or the script in the place of this file. The parent has
the runtime with its hooks, so that frameworks are patched while they are imported, as in any other run; each child then
makes the runtime its own (`adopt`).

Inputs
------
Environment variable ``DEVIATE_WARM``
    The descriptors, with a comma between, from which orders are read and to which answers are written.
Environment variable ``DEVIATE_WARM_IMPORTS``
    What is imported, with commas between.
Environment variable ``DEVIATE_ROOM``
    The last of all: its text is as long as what takes its place in the memory of each child.
Orders
    A JSON object a line: ``{"argv", "words", "environment", "cwd", "cores", "stdout", "stderr"}``; `words` are those of
    `argv` that the program sees.

Outputs
-------
Answers
    A JSON object a line. First ``{"ready": true, "modules": [...]}``, the modules that are loaded, or ``{"cold":
    REASON}``, after which the parent ends; then, in turn with the orders, ``{"pid"}``, and ``{"pid", "status",
    "cpu_seconds", "peak_memory"}`` for each child that ended: its status is negative for a signal, its memory in bytes.
"""

import json
import os
import select
import sys

from . import start as start_runtime
from .factors import OTHER
from .given import run_for, script_name

VARIABLE, IMPORTS, ROOM, RUNTIME = "DEVIATE_WARM", "DEVIATE_WARM_IMPORTS", "DEVIATE_ROOM", "DEVIATE_RUNTIME"

#: Seconds between two looks at the children, where the system does not tell when one ends.
LOOK_EVERY = 0.05


def serve():
    """Fork children as they are ordered; returns in each of them, and never in the parent."""
    orders, answers = (int(word) for word in os.environ.pop(VARIABLE).split(","))
    order = None
    try:
        reason = get_ready(os.environ.pop(IMPORTS).split(","))
        if reason is not None:
            answer(answers, cold=reason)
            os._exit(0)
        answer(answers, ready=True, modules=sorted(sys.modules))
        order = Parent(orders, answers).wait_for_order()
        if order is None:
            os._exit(0)
        os.close(orders)
        os.close(answers)
        become(order)
    except BaseException as error:
        # Neither a parent nor a child that is not what it ought to be may train.
        if order is None:
            answer(answers, cold=repr(error))
        else:
            os.write(2, ("deviate: the run could not be forked: %r\n" % (error,)).encode("utf-8", "replace"))
        os._exit(70)


def answer(descriptor, **values):
    """Write an answer; where nobody reads it any more, end."""
    try:
        os.write(descriptor, (json.dumps(values) + "\n").encode("ascii"))
    except OSError:
        os._exit(0)


# The parent


def get_ready(names):
    """Import what is to be imported; return why no child can be forked after that, None where one can."""
    if sys.version_info < (3, 8):
        return "it takes Python 3.8 or newer"
    start_runtime()
    process = this_process()
    process.is_warm = True
    for name in names:
        __import__(name)
    # Libraries that end their threads before a fork, as OpenBLAS does, have ended them after it.
    wait_for(fork_empty())
    sys.stdout.flush()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return "%s left %d threads running" % (" and ".join(names), threads - 1)
    if any(path.startswith("/dev/nvidia") for path in open_files()):
        return "%s opened a GPU" % " and ".join(names)
    drawn = [factor for factor, each in process.streams.fingerprints.factors.items() if each.count]
    if any(factor != OTHER for factor in drawn) or process.streams.current != OTHER or process.forks:
        return "%s drew random numbers when imported" % " and ".join(names)
    write_memory(ROOM, read_memory(ROOM))
    return None


def this_process():
    """Return what the runtime knows about this process."""
    from . import process

    return process


def fork_empty():
    """Fork a child that does nothing."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid


def wait_for(pid):
    """Wait for a child; return its status as `subprocess` has it, and what it took."""
    _, status, used = os.wait4(pid, 0)
    return {
        "status": -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_memory": used.ru_maxrss * 1024,
    }


def open_files():
    """Return the paths of the files that this process has open."""
    paths = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            paths.append(os.readlink("/proc/self/fd/" + descriptor))
        except OSError:
            continue  # that of the listing itself
    return paths


class Parent:
    """Reads orders, forks, and says how children ended."""

    def __init__(self, orders, answers):
        self.orders = orders
        self.answers = answers
        self.children = {}
        self.text = b""

    def wait_for_order(self):
        """Return the order of the child that this is; None in the parent, once nobody orders any more."""
        while True:
            ready = self.wait()
            self.look()
            if self.orders not in ready:
                continue
            read = os.read(self.orders, 1 << 20)
            if not read:
                return None
            *lines, self.text = (self.text + read).split(b"\n")
            for line in lines:
                order = json.loads(line.decode("utf-8"))
                if self.fork():
                    return order

    def fork(self):
        """Fork; tell whether this is the child."""
        pid = os.fork()
        if pid == 0:
            for descriptor in self.children.values():
                if descriptor is not None:
                    os.close(descriptor)
            return True
        self.children[pid] = end_descriptor(pid)
        answer(self.answers, pid=pid)
        return False

    def wait(self):
        """Wait for an order or for the end of a child; return the descriptors that have something to read."""
        ends = list(self.children.values())
        known = [descriptor for descriptor in ends if descriptor is not None]
        ready, _, _ = select.select([self.orders, *known], [], [], LOOK_EVERY if None in ends else None)
        return ready

    def look(self):
        """Say how children ended."""
        for pid, descriptor in list(self.children.items()):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                del self.children[pid]
                if descriptor is not None:
                    os.close(descriptor)
                answer(self.answers, pid=pid, **wait_for(pid))


def end_descriptor(pid):
    """Return a descriptor that can be read when a process has ended; None where Python or the system has none."""
    open_process = getattr(os, "pidfd_open", None)
    return None if open_process is None else open_process(pid)


# The child


def become(order):
    """Be what the order starts: a process with a session, files, variables and words of its own."""
    os.setsid()
    lead(1, order["stdout"])
    lead(2, order["stderr"])
    if order["cores"] is not None:
        os.sched_setaffinity(0, order["cores"])
    os.chdir(order["cwd"])
    write_memory(ROOM, "%s=%s" % (RUNTIME, order["environment"][RUNTIME]))
    for name in list(os.environ):
        if name not in order["environment"]:
            del os.environ[name]
    os.environ.update(order["environment"])
    sys.argv[:] = order["words"]
    words = getattr(sys, "orig_argv", None)
    if words is not None:
        words[:] = order["argv"]
    extend_path(os.environ["PYTHONPATH"].split(os.pathsep))
    process = this_process()
    adopt(process)
    if sys.argv[0] != "-m":
        script = script_name(sys.argv[0])
        run_for(os.path.join(os.path.dirname(__file__), "warm.py"), script, process.given.code(script, script))


def lead(descriptor, path):
    """Lead the output to a file, which begins with what the imports printed."""
    printed = b""
    with open("/proc/self/fd/%d" % descriptor, "rb") as file:
        printed = file.read()
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(opened, descriptor)
    os.close(opened)
    if printed:
        os.write(descriptor, printed)


def extend_path(entries):
    """Put the entries of PYTHONPATH where Python puts them; the first is there: it starts the runtime."""
    first, *others = [os.path.abspath(entry) for entry in entries]
    place = sys.path.index(first) + 1
    paths = [*sys.path[:place], *others, *sys.path[place:]]
    sys.path[:] = sorted(set(paths), key=paths.index)


def adopt(process):
    """Have the runtime do what is to be done in this process, as if it had started in it."""
    with open(os.environ[RUNTIME], encoding="utf-8") as file:
        process.adopt(json.load(file))


# What other processes see of the variables of this one


def room(name):
    """Return the address of a variable in the memory that shows its process's variables, and the length of it."""
    with open("/proc/self/environ", "rb") as file:
        text = file.read()
    start = text.index(b"\0" + name.encode("ascii") + b"=") + 1
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    # Where the variables begin is the 50th field; two fields stand before the bracket.
    return int(fields[47]) + start, text.index(b"\0", start) - start


def read_memory(name):
    """Return a variable as other processes see it."""
    address, length = room(name)
    with open("/proc/self/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(length).decode("utf-8", "surrogateescape")


def write_memory(name, text):
    """Let other processes see `text` in the place of a variable, which is at least as long."""
    address, length = room(name)
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > length:
        raise ValueError("%d bytes for a text of %d" % (length, len(data)))
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        memory.write(data.ljust(length, b"\0"))
