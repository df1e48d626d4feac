"""Give Python instrumented code where it runs a file of the program; the file stays as its author wrote it.

Whatever takes the code of a module from its loader is given it (imports, ``python -m``, `importlib.reload`), and so are
`runpy.run_path` and the workers that `multiprocessing` spawns. `watch_script` gives it to ``python train.py``. A
file that is not as its author wrote it any more, since the program has rewritten it, runs as it is.

The columns of instrumented code, from Python 3.11 on, are those of the file that its author wrote: tracebacks mark the
part of a line that failed by them.

Python asks `sys.path_hooks` whether the script is a folder or an archive with a program in it, before it reads the
file. Where it is one whose code is given, the answer is yes: Python then has `runpy` run it. What stands there for
`runpy` is called by no Python function and calls none, so that the program finds no frame above its own, prints its own
tracebacks and ends as it would.
"""

import _frozen_importlib_external as importing
import json
import marshal
import os
import sys
from collections import defaultdict
from functools import partial
from itertools import groupby

from .patching import is_library_file, replaces

#: Kinds of entries in a table of locations, and how many code units one is for at most.
NOWHERE, WITHOUT_COLUMNS, WITH_COLUMNS = 15, 13, 14
LONGEST = 8


def with_columns(code, columns):
    """Return `code`, and all code within, with the columns that lines had before they were edited.

    Parameters
    ----------
    code : code
        Of an edited text.
    columns : dict
        By line, from left to right, ``[column in the line before, bytes that came there, bytes that went]``.
    """
    constants = tuple(with_columns(each, columns) if isinstance(each, type(code)) else each for each in code.co_consts)
    if any(each is not other for each, other in zip(constants, code.co_consts)):  # noqa: B905
        code = code.replace(co_consts=constants)
    if not any(line in columns or end_line in columns for line, end_line, _, _ in code.co_positions()):
        return code
    moved = [(move(position, columns), len(list(units))) for position, units in groupby(code.co_positions())]
    changed = code.replace(co_linetable=table(moved, code.co_firstlineno))
    expected = []
    for position, count in moved:
        expected += [position] * count
    # A table that is read in another way than it was written would be worse than one with other columns.
    return changed if list(changed.co_positions()) == expected else code


def move(position, columns):
    """Return a position in the edited text as one in the text before."""
    line, end_line, column, end_column = position
    if column is None or not (line in columns or end_line in columns):
        return position
    return line, end_line, before(column, columns.get(line, ())), before(end_column, columns.get(end_line, ()))


def before(column, changes):
    """Return what a column was before `changes` of its line."""
    shift = 0
    for at, came, went in changes:
        if column <= at + shift:
            break
        if column < at + shift + came:
            return at
        shift += came - went
    return column - shift


def table(positions, first_line):
    """Return a table of locations; how it is laid out is in ``Objects/locations.md`` of CPython."""
    data, last = bytearray(), first_line
    for (line, end_line, column, end_column), count in positions:
        while count:
            length = min(count, LONGEST)
            count -= length
            kind = NOWHERE if line is None else WITHOUT_COLUMNS if column is None else WITH_COLUMNS
            data.append(0x80 | kind << 3 | length - 1)
            if line is None:
                continue
            put_signed(data, line - last)
            last = line
            if column is None:
                continue
            if end_line == line and end_column < 63:
                data += bytes((0, column + 1, end_column + 1))
                continue
            for number in (end_line - line, column + 1, end_column + 1):
                put(data, number)
    return bytes(data)


def put(data, number):
    """Append a number, six bits at a time."""
    while number >= 64:
        data.append(64 | number & 63)
        number >>= 6
    data.append(number)


def put_signed(data, number):
    """Append a number with its sign."""
    put(data, -number << 1 | 1 if number < 0 else number << 1)


class Given:
    """The files of the program in whose place other code is run.

    Parameters
    ----------
    config : dict
        ``runtime.json``.
    events : Events
        Where it is noted if that fails.
    """

    def __init__(self, config, events):
        self.events = events
        self.files = {}
        files, overlay = config.get("instrumented"), config.get("overlay") or ""
        if files:
            for folder in (overlay, os.path.realpath(overlay)):
                self.files.update({os.path.join(folder, name): file for name, file in files.items()})
        self.names = {os.path.basename(path) for path in self.files}

    def find(self, path):
        """Return what is known of the file at `path`; None where it runs as it is."""
        file = self.files.get(path)
        if file is None and os.path.basename(path) in self.names and not is_library_file(path):
            file = self.files.get(os.path.realpath(path))
        return file if file is not None and is_as_written(path, file) else None

    def script(self):
        """Return the script of this process as its command line names it, None where its code is not given."""
        words = getattr(sys, "argv", None)
        # Python 3.7 says only later which of its words is the script.
        candidates = command_words()[1:] if words is None else words[:1]
        return next((word for word in candidates if self.find_safely(word)), None)

    def first_imports(self):
        """Return the modules that the script of this process imports before it does anything else."""
        path = self.script()
        return [] if path is None else self.find(path).get("imports", [])

    def find_safely(self, path):
        """Do as `find` does; a path that cannot be looked at is that of no such file."""
        try:
            return self.find(path)
        except (OSError, ValueError, TypeError):
            return None

    def code(self, path, name=None, compiled=None):
        """Return the code that runs in the place of a file, None where it runs as it is.

        Parameters
        ----------
        path : str
            The file.
        name : str or None
            What its code is to call it, if not by `path`.
        compiled : function or None
            What compiles a text, if Python's own compiler does not do it alone. Only what that makes is kept.
        """
        try:
            file = self.find(path)
            if file is None:
                return None
            kept = None if name is not None or compiled is not None else kept_path(file)
            code = None if kept is None else read_kept(kept, path)
            if code is None:
                code = self.compile(file, name or path, compiled)
                if kept is not None:
                    keep(kept, code)
            return code
        except Exception as error:
            # Such as a syntax that only a newer Python has: the file itself then says so.
            self.events.note("code-not-given", "%s: %r" % (path, error), path)
            return None

    def compile(self, file, name, compiled):
        """Return the code of a text, with the columns of the file that it stands for."""
        data = read(file["text"])
        code = compile(data, name, "exec", dont_inherit=True) if compiled is None else compiled(data, name)
        if sys.version_info >= (3, 11):
            columns = json.loads(read(os.path.splitext(file["text"])[0] + ".json").decode("utf-8"))
            code = with_columns(code, {int(line): changes for line, changes in columns.items()})
        return code


def is_as_written(path, file):
    """Tell whether a file is what its author wrote; one that was touched or written anew is read for that."""
    status = os.stat(path)
    if status.st_size != file["size"]:
        return False
    if status.st_mtime_ns == file["written"]:
        return True
    from zlib import crc32

    return crc32(read(path)) == file["crc"]


def read(path):
    """Return what is in a file."""
    with importing._io.FileIO(path, "r") as file:
        return file.read()


def kept_path(file):
    """Return where this Python's code of a text is kept."""
    kind = "%s-%d" % (sys.implementation.cache_tag, sys.flags.optimize)
    return "%s.%s" % (os.path.splitext(file["text"])[0], kind)


def read_kept(kept, path):
    """Return code that is kept, None where it is not."""
    try:
        code = marshal.loads(read(kept))
    except (OSError, EOFError, ValueError, TypeError):
        return None
    importing._imp._fix_co_filename(code, path)
    return code


def keep(kept, code):
    """Keep code for other processes of the run; where that cannot be, each compiles its own."""
    aside = "%s.%d" % (kept, os.getpid())
    try:
        with importing._io.FileIO(aside, "x") as file:
            file.write(marshal.dumps(code))
        os.replace(aside, kept)
    except OSError:
        return


def give_to_loaders(process):
    """Have loaders of source files, and what is derived of them, give instrumented code."""
    loader = importing.SourceLoader
    plain = loader.get_code
    if hasattr(plain, "_deviate"):
        return

    @replaces(loader, "get_code")
    def get_code(self, fullname):
        code = None
        if process.given.files:
            try:
                path = self.get_filename(fullname)
            except Exception:
                path = None  # it is for the loader itself to raise that
            if path is not None:
                kind = type(self)
                own = kind is not importing.SourceFileLoader and kind.source_to_code is not PLAIN_COMPILE
                code = process.given.code(path, compiled=self.source_to_code if own else None)
        return plain(self, fullname) if code is None else code

    # Python leaves frames of its import system out of tracebacks.
    importing._imp._fix_co_filename(get_code.__code__, plain.__code__.co_filename)


PLAIN_COMPILE = importing.SourceFileLoader.source_to_code


def give_to_runpy(pkgutil, process):
    """Have `runpy.run_path` run instrumented code: it asks this function first whether a file holds code already."""
    plain = pkgutil.read_code
    runpy = sys.modules.get("runpy")

    @replaces(pkgutil, "read_code", *([runpy] if hasattr(runpy, "read_code") else []))
    def read_code(stream):
        path = getattr(stream, "name", None)
        if isinstance(path, str) and process.given.files:
            name = sys._getframe(1).f_locals.get("fname")
            code = process.given.code(path, name if isinstance(name, str) else path)
            if code is not None:
                return code
        return plain(stream)


def watch_script(given):
    """Be asked about the script of this process, if its code is given."""
    path = given.script()
    code = None if path is None else given.code(path, script_name(path))
    if code is not None:
        run_for(path, None, code)


def script_name(path):
    """Return what Python calls the script at `path`."""
    if sys.version_info < (3, 9) or os.path.isabs(path):
        return path
    return os.path.join(os.getcwd(), path[2:] if path.startswith("./") else path)


def run_for(asked, path, code):
    """Have code run where Python is about to run the script at `asked`.

    Parameters
    ----------
    asked : str
        The script by any name.
    path : str or None
        What the script that runs is called; None: as Python calls that which it is about to run.
    code : code or None
        Its code; None: that of the file at `path`.
    """

    def claim(entry):
        if not os.path.exists(entry) or not os.path.samefile(entry, asked):
            raise ImportError("it is no script", path=entry)
        # No hook is asked after one that answers, so the list may change.
        sys.path_hooks.remove(claim)
        sys.modules["runpy"] = script = Script(entry, path or entry, code, sys.modules.get("runpy"))
        return script

    sys.path_hooks.insert(0, claim)


class Script:
    """Stands for `runpy` until Python asks it what runs the script."""

    __slots__ = ("entry", "path", "code", "runpy")

    def __init__(self, entry, path, code, runpy):
        self.entry = entry
        self.path = path
        self.code = code
        self.runpy = runpy

    @property
    def _run_module_as_main(self):
        """What runs the script, with all as it is when Python itself does."""
        if self.runpy is None:
            del sys.modules["runpy"]
        else:
            sys.modules["runpy"] = self.runpy
        sys.path_importer_cache[self.entry] = None
        if sys.path and sys.path[0] == self.entry:
            del sys.path[0]
        if not getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, os.path.dirname(os.path.realpath(self.path)))
        namespace = sys.modules["__main__"].__dict__
        namespace.update(__file__=self.path, __cached__=None)
        namespace["__loader__"] = importing.SourceFileLoader("__main__", self.path)
        # Python takes them away once the script has ended, so that what is called later does not find them.
        leave = [partial(namespace.pop, name, None) for name in ("__file__", "__cached__")]
        return called_by_nobody(self.run(namespace), *leave)

    def run(self, namespace):
        """Return what runs the script, or says as Python would why it cannot be."""
        if self.code is not None:
            importing._imp._fix_co_filename(self.code, self.path)
            return partial(exec, self.code, namespace)
        with open(self.path, "rb") as file:
            text = file.read()
        compiled = partial(compile, text, self.path, "exec", 0, True)
        try:
            return partial(exec, compiled(), namespace)
        except (SyntaxError, ValueError):
            return compiled


def called_by_nobody(*functions):
    """Return what calls functions without arguments, one after the other, whatever it is given; it has no frame.

    To fill in the text values are looked up that are not there, and so made.
    """
    text = "".join("{%d[made]}" % number for number in range(len(functions)))
    return partial(text.format, *map(defaultdict, functions))


def program_words():
    """Return the command line up to the program: its arguments may be secrets."""
    words = command_words()
    for index, word in enumerate(words[1:], 1):
        if word == "-c" or not word.startswith("-"):
            return words[: index + 1]
    return words[:1]


def command_words():
    """Return the command line; Python 3.7 sets `sys.argv` only after this runs."""
    words = getattr(sys, "orig_argv", None) or getattr(sys, "argv", None)
    if words:
        return list(words)
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []
