"""Write down which files outside its copy of the project a training opens, and what they were like when it did.

The interpreter tells of every file that Python opens (`sys.addaudithook`, Python 3.8 or newer). What a library opens
by itself is looked for among the files that the process has open or mapped. What libraries open while a script that
begins with imports imports them is not noted. At its first opening a file's size and
time are taken; what it holds is read at the end, where the file is still the same.
"""

import os
import sys
from stat import S_ISREG

from .patching import INSTALLED, is_installed, is_library_file

#: Folders of the system, whose files are no inputs of a training.
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/run/", "<")

#: Of code, which is read to be run.
CODE = (".py", ".pyc", ".pyi", ".so", ".pth", ".pyd")

LIBRARIES = ("/site-packages/", "/dist-packages/", "/__pycache__/")

#: Files that are noted, and those of them that are written one by one; of the others, a line a folder.
MOST = 20000
SINGLE = 1000

#: Bytes of a file that is read whole, read from the two ends of a longer one, and read of all files together.
WHOLE = 1 << 20
END = 1 << 16
BUDGET = 1 << 25

#: Files a line.
A_LINE = 200

WRITES = os.O_WRONLY | os.O_RDWR


class Opened:
    """The files that this process opened, by path."""

    def __init__(self, process, add):
        self.process = process
        self.add_hook = add
        #: Names of the libraries whose imports are waited for, None once files are watched.
        self.imports = []
        self.forget()

    def forget(self):
        """Begin anew, in a process of its own or for another run."""
        #: Absolute path: [state before it was opened (None: it was not there), read, written]
        self.files = {}
        #: Paths whose entries changed since they were written into the events.
        self.new = set()
        #: Real paths of folders, and how many files were written one by one.
        self.places = {}
        self.written = 0
        self.left = 0
        #: True while the runtime itself opens files.
        self.busy = False

    def begin_after(self, name):
        """Watch from now on, if no import is waited for beside that of the module `name`."""
        if self.imports is not None:
            self.imports = [each for each in self.imports if each != name and not is_imported(each)]
            if not self.imports:
                self.begin()

    def before_import(self, spec, is_watched):
        """Do not wait for a module after whose import nothing is called; watch at once what is no library."""
        if not is_watched:
            self.begin_after(spec.name)
        elif not (is_library_file(spec.origin or "") or (spec.has_location and is_installed(spec.origin))):
            self.begin()

    def begin(self):
        """Watch from now on."""
        self.imports = None
        self.add_hook(self.hook())

    def hook(self):
        """Return what the interpreter calls at each event; it returns at once from all but two."""

        def audit(event, args):
            if event == "open":
                path, _, flags = args
                if type(path) is not int:
                    self.note(path, flags)
            elif event == "sqlite3.connect":
                self.note(args[0], 0)

        return audit

    def note(self, path, flags):
        """Note that a file is about to be opened."""
        try:
            if type(path) is not str:
                path = os.fsdecode(path)
            if path.endswith(CODE) or path.startswith(SYSTEM) or self.busy:
                return
            if not path.startswith("/"):
                path = os.path.join(os.getcwd(), path)
            known = self.files.get(path)
            if known is None:
                self.add(path, flags)
            elif flags & WRITES and not known[2]:
                known[2] = True
                self.new.add(path)
            elif not (flags & WRITES or known[1] or known[2]):
                known[1] = True
                self.new.add(path)
        except (OSError, TypeError, ValueError, AttributeError):
            return

    def add(self, path, flags):
        """Note the first opening of a file; one that is not there and is only to be read is none."""
        state, writes = state_of(path), bool(flags & WRITES)
        if state is None and (not writes or os.path.exists(path)):
            return
        if len(self.files) >= MOST:
            self.left += 1
            return
        # One that is opened for both, and kept, is read where it holds something; to append is not to read.
        both = flags & os.O_RDWR and not flags & (os.O_TRUNC | os.O_APPEND)
        read = state is not None and bool(not writes or (both and state[0]))
        self.files[path] = [state, read, writes]
        self.new.add(path)
        if self.process.forked and is_power(len(self.files)):
            self.write()

    def look(self):
        """Note files that a library opened by itself and has open or mapped now."""
        for path, flags in open_now() + mapped_now():
            if path not in self.files and not path.endswith(" (deleted)") and ".so." not in path:
                self.note(path, flags)

    def place_of(self, path):
        """Return the real path of a file; that of its folder is asked once."""
        folder, name = os.path.split(path)
        real = self.places.get(folder)
        if real is None:
            real = self.places[folder] = os.path.realpath(folder)
        place = os.path.join(real, name)
        return os.path.realpath(place) if os.path.islink(place) else place

    def write(self, ended=False):
        """Write what is new since the last time; at the end, also what files hold and which of them changed."""
        self.busy = True
        try:
            own, budget, rows, folders = own_folders(self.process.config), BUDGET * ended, [], {}
            paths = list(self.files if ended else self.new)
            self.new.clear()
            for path in paths:
                state, read, written = self.files[path]
                place = self.place_of(path)
                if not concerns(place, own):
                    continue
                if self.written + len(rows) >= SINGLE and read and not written:
                    folders.setdefault(os.path.dirname(place), []).append((place, state))
                    continue
                after = state_of(place) if ended else state
                row = [name_of(path, self.process.config), state if read else None, "", written, None]
                if budget > 0 and after is not None:
                    row[2:], spent = with_digest(row, after, digest_of(place, after))
                    budget -= spent
                rows.append(row)
            if not ended:
                self.written += len(rows)
            self.write_rows(rows, folders)
        finally:
            self.busy = False

    def write_rows(self, rows, folders):
        """Write files, a few hundred a line, and what is not written one by one as sums over folders."""
        from zlib import crc32

        events = self.process.events
        for start in range(0, len(rows), A_LINE):
            events.write({"event": "opened", "files": rows[start : start + A_LINE]})
        for folder, files in sorted(folders.items()):
            names = states = 0
            for place, state in sorted(files):
                names = crc32(os.fsencode(place), names)
                states = crc32(repr(state).encode("ascii"), states)
            events.write({"event": "opened", "folder": [folder, len(files), names, states]})

    def tick(self, iteration):
        """Write what was opened before an iteration of the main loop: a program may end without a word."""
        if iteration == 0 and self.imports is None:
            self.look()
        if self.new:
            self.write()

    def finish(self):
        """Write all that is known at the end; that it was looked is written where there was nothing, too."""
        if self.imports is not None:
            return
        self.look()
        self.write(ended=True)
        self.process.events.write({"event": "opened", "ended": True, "left": self.left})


def with_digest(row, after, digest):
    """Return the last parts of a row with what the file holds now: as it was read, or since it was changed."""
    _, before, _, written, _ = row
    text, spent = digest
    return ([text, written, None] if after == before else ["", written, [*after, text]]), spent


def open_now():
    """Return the files that this process has open beside its standard streams, each with how."""
    found = []
    for number in listed("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + number)
            if path.startswith("/") and int(number) > 2 and not path.startswith(SYSTEM):
                with open("/proc/self/fdinfo/" + number) as file:
                    flags = next(line for line in file if line.startswith("flags:"))
                found.append((path, int(flags.split()[1], 8)))
        except (OSError, ValueError, StopIteration):
            continue
    return found


def mapped_now():
    """Return the files that this process has in its memory, each with how; code is left out."""
    found = []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                # Most lines are of libraries, a library on several.
                head, _, path = line.rstrip("\n").partition("/")
                if path and not path.endswith(CODE):
                    found.append(("/" + path, os.O_RDWR if head.split(None, 2)[1].endswith("ws") else 0))
    except OSError:
        return []
    return found


def watch(process):
    """Have the interpreter tell of files that are opened; nothing is done where it cannot.

    A script that begins with imports of libraries is watched from their end on: nothing can take a hook away, and it is
    called some hundred thousand times while they are imported.
    """
    add = getattr(sys, "addaudithook", None)
    if add is not None:
        process.opened = Opened(process, add)
        process.opened.imports = process.given.first_imports()
        process.opened.begin_after(None)


def imported(module, process):
    """Begin to watch if what was imported is the last of the libraries that the script begins with."""
    process.opened.begin_after(module.__name__)


def is_imported(name):
    """Tell whether a module is imported, and wholly."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def is_power(number):
    """Tell whether a number is a power of two."""
    return not number & (number - 1)


def listed(folder):
    """Return the names in a folder; none where it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def state_of(path):
    """Return size and time of a plain file; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if S_ISREG(status.st_mode) else None


def own_folders(config):
    """Return the folders of the run and of the interpreter, whose files are no inputs."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.__file__)} - {"", "/"}
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Another thread may import something meanwhile.
    libraries = [folder for folder, is_one in list(INSTALLED.items()) if is_one]
    folders = {config["overlay"], config["records"], here, *prefixes, *libraries}
    return SYSTEM + tuple(os.path.realpath(folder) + "/" for folder in folders)


def name_of(path, config):
    """Return the path that other runs know a file by: within the folder of the run, from its copy of the project."""
    path = os.path.normpath(path)
    for real in (str, os.path.realpath):
        run = real(config["records"]) + "/"
        if path.startswith(run):
            return os.path.relpath(path, real(config["overlay"]))
    return path


def concerns(place, own):
    """Tell whether a file lies outside the run, the interpreter and its libraries."""
    return not place.startswith(own) and not any(part in place for part in LIBRARIES)


def digest_of(path, state):
    """Return what a file holds as a checksum, of the whole or of its two ends, and how many bytes were read."""
    from zlib import crc32

    try:
        with open(path, "rb") as file:
            if state[0] <= WHOLE:
                data = file.read(WHOLE)
                return "whole %08x" % crc32(data), len(data)
            data = file.read(END)
            file.seek(-END, os.SEEK_END)
            data += file.read(END)
            return "ends %08x" % crc32(data), len(data)
    except OSError:
        return "", 0
