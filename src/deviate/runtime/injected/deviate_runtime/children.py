"""Keep the runtime in the Python programs that this one starts, and write down which were started.

A launcher that gives its child an environment of its own takes the runtime's two variables from it. They are put back
where the child is Python or may start one; nothing else of what the child is given is touched.
"""

import os
import sys

from .patching import replaces

RUNTIME, SEARCH = "DEVIATE_RUNTIME", "PYTHONPATH"

PYTHONS = ("python", "pypy")

SHELLS = frozenset("sh bash dash zsh ksh ash busybox".split())

#: Programs that start another one, which may be Python. `env` is among them: what it clears stays cleared.
STARTERS = SHELLS.union(
    "env nice nohup timeout time stdbuf setsid taskset numactl chrt ionice xargs srun mpirun mpiexec make".split()
)

#: Options with which Python runs no program.
SAYS_ONLY = frozenset(("-V", "-VV", "--version", "-h", "--help"))

#: Options that take the word behind them.
WITH_WORD = frozenset(("-W", "-X", "--check-hash-based-pycs"))

#: Children that a process writes down.
MOST = 200


class Children:
    """What this process starts."""

    __slots__ = ("process", "count", "folder")

    def __init__(self, process):
        self.process = process
        self.count = 0
        self.folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    def lost(self, find, words, program):
        """Return the variables that a child lacks and needs; `find` returns what it was given under a name."""
        runtime = self.process.runtime_file
        if runtime is None or find(RUNTIME) not in (None, runtime) or not may_be_python(words, program):
            return {}
        entries = [entry for entry in (find(SEARCH) or "").split(os.pathsep) if entry]
        lost = {} if find(RUNTIME) else {RUNTIME: runtime}
        if self.folder not in entries:
            lost[SEARCH] = os.pathsep.join([self.folder] + entries)
        return lost

    def complete(self, environment, words, program):
        """Return the mapping that a child is given; the same object where it lacks nothing."""
        lost = self.lost(lambda name: value_of(environment, name), words, program)
        if not lost:
            return environment
        in_bytes = frozenset(map(os.fsencode, lost))
        kept = {name: value for name, value in environment.items() if name not in lost and name not in in_bytes}
        return dict(kept, **lost)

    def listed(self, lines, words, program):
        """Return ``NAME=VALUE`` lines that a child is given; the same object where it lacks nothing."""
        given = dict(line.split(b"=", 1) for line in lines if b"=" in line)
        lost = self.lost(lambda name: text(given.get(os.fsencode(name))), words, program)
        if not lost:
            return lines
        names = tuple(os.fsencode(name) + b"=" for name in lost)
        added = [os.fsencode("%s=%s" % item) for item in lost.items()]
        return [line for line in lines if not line.startswith(names)] + added

    def note(self, words, pid, how):
        """Write that a Python program was started, without its arguments: they may be secrets."""
        python = python_words(words)
        if python is None or self.count >= MOST:
            return
        self.count += 1
        through = None if is_python(words[0]) else os.path.basename(words[0])
        self.process.events.write({"event": "child", "how": how, "pid": pid, "argv": python, "through": through})

    def before_replacing(self, words):
        """Write what is to be written before another program takes the place of this one."""
        try:
            self.process.leave()
            self.note(words, os.getpid(), "replace")
        except Exception as error:
            self.process.events.note("child-unseen", repr(error), "replace")


def watch(process):
    """Watch what starts programs: that of `os` at once, that of `subprocess` once it is imported."""
    children = process.children = Children(process)
    watch_replacing(children)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            watch_spawning(children, name)
    watch_shell(children)


def safely(children, function, *otherwise):
    """Return what `function` returns; where it fails, what was there before it."""
    try:
        return function()
    except Exception as error:
        children.process.events.note("child-unseen", repr(error), "start")
        return otherwise[0]


def watch_replacing(children):
    """Watch the functions that run another program in this process."""
    import posix

    plain_with, plain = os.execve, os.execv

    @replaces(os, "execve", posix)
    def execve(path, argv, env):
        words = read_words(argv)
        given = safely(children, lambda: children.complete(env, words, text(path)), env)
        children.before_replacing(words)
        return plain_with(path, argv, given)

    @replaces(os, "execv", posix)
    def execv(path, argv):
        words = read_words(argv)
        given = safely(children, lambda: children.complete(os.environ, words, text(path)), os.environ)
        children.before_replacing(words)
        return plain(path, argv) if given is os.environ else plain_with(path, argv, given)

    for functions in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
        if plain_with in functions:
            functions.add(execve)


def watch_spawning(children, name):
    """Watch a function that starts a program with an environment."""
    import posix

    plain = getattr(os, name)

    @replaces(os, name, posix)
    def spawn(path, argv, env, *args, **kwargs):
        words = read_words(argv)
        given = safely(children, lambda: children.complete(os.environ if env is None else env, words, text(path)), env)
        pid = plain(path, argv, env if given is os.environ else given, *args, **kwargs)
        safely(children, lambda: children.note(words, pid, "start"), None)
        return pid


def watch_shell(children):
    """Watch commands that a shell runs, which has the environment of this process."""
    import posix

    plain = os.system

    @replaces(os, "system", posix)
    def system(command):
        words = ["sh", "-c", text(command) or ""]
        lost = safely(children, lambda: children.lost(os.environ.get, words, "sh"), {})
        safely(children, lambda: children.note(words, None, "start"), None)
        for name, value in lost.items():
            os.putenv(name, value)
        try:
            return plain(command)
        finally:
            for name in lost:
                os.unsetenv(name)
                if name in os.environ:
                    os.putenv(name, os.environ[name])


def watch_processes(module, process):
    """Watch the function by which `subprocess` and `multiprocessing` start programs."""
    plain, children = module.fork_exec, process.children

    @replaces(module, "fork_exec")
    def fork_exec(args, executables, close_fds, pass_fds, cwd, env, *others):
        words = read_words(args)
        program = safely(children, lambda: first_program(executables), None)
        given = safely(children, lambda: given_lines(children, env, words, program), env)
        pid = plain(args, executables, close_fds, pass_fds, cwd, given, *others)
        safely(children, lambda: children.note(words, pid, "start"), None)
        return pid

    starting = sys.modules.get("subprocess")
    if getattr(starting, "_fork_exec", None) is plain:
        starting._fork_exec = fork_exec


def given_lines(children, env, words, program):
    """Return the lines that a child is given, None for those of this process."""
    if env is not None:
        return children.listed(env, words, program)
    lost = children.lost(os.environ.get, words, program)
    own = os.environ if not lost else dict(os.environ, **lost)
    return [os.fsencode("%s=%s" % item) for item in own.items()] if lost else None


def value_of(environment, name):
    """Return a variable of a mapping whose names may be bytes; None where it is not there."""
    in_bytes = os.fsencode(name)
    return next((text(value) for key, value in environment.items() if key in (name, in_bytes)), None)


def first_program(paths):
    """Return the first path at which there is a file, as the system looks for it."""
    return next((text(path) for path in paths if os.path.isfile(path)), None)


def text(value):
    """Return a path, word or value as text; None for what is none."""
    if isinstance(value, bytes) or hasattr(value, "__fspath__"):
        return os.fsdecode(value)
    return value if isinstance(value, str) else None


def is_python(word):
    """Tell whether a word names Python, whatever its folder and its version."""
    return os.path.basename(word).rstrip("0123456789.t") in PYTHONS


def read_words(argv):
    """Return the words of a command; an iterator is left to the one who consumes it."""
    return [text(word) or "" for word in argv] if isinstance(argv, (list, tuple)) else []


def may_be_python(words, program):
    """Tell whether a program is Python, a script or a program that starts others."""
    path = program or (words[0] if words else "")
    name = os.path.basename(path)
    if is_python(name) or name in STARTERS:
        return True
    if os.path.realpath(path) == os.path.realpath(sys.executable or ""):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def shell_words(words):
    """Return the words of the text that a shell is given, and without such a text its own."""
    texts = [words[index + 1] for index, word in enumerate(words[:-1]) if word.startswith("-") and word.endswith("c")]
    return texts[0].replace(";", " ").replace("&", " ").split() if texts else words[1:]


def python_words(words):
    """Return the words of a command from Python up to its program; None where it starts none.

    Of a shell's ``-c``, the words of its text count.
    """
    words = ["sh"] + shell_words(words) if os.path.basename(words[0] if words else "") in SHELLS else words
    starts = [index for index, word in enumerate(words) if is_python(word)]
    if not starts or (starts[0] and os.path.basename(words[0]) not in STARTERS):
        return None
    found = [words[starts[0]]]
    rest = iter(words[starts[0] + 1 :])
    for word in rest:
        found.append(word)
        if word in SAYS_ONLY:
            return None
        if word == "-m" or word in WITH_WORD:
            found.append(next(rest, ""))
        if word in ("-c", "-m") or not word.startswith("-"):
            return found
    return found
