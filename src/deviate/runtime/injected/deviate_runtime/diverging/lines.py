"""Every statement of the program's own code, with digests of what it reads and writes: where host data come from."""

import ast
import dis
import sys
import types

from .digests import identity

#: Attributes that are followed from a name.
CHAIN = 4

#: What of a module is followed: NumPy's generator, and of PyTorch what draws nothing.
FOLLOWED = {("numpy", "random")} | {
    ("torch", name) for name in "as_tensor cat float32 from_numpy int64 long no_grad ones stack tensor zeros".split()
}

#: Functions that put a generator into a state of its own, whatever it was in.
SEEDING = {"seed", "manual_seed", "seed_everything", "set_seed", "set_random_seed", "set_state", "setstate"}

#: Code within a function that has no statements of its own.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

#: Of code: it is left and entered again.
RESUMED = 0x20 | 0x80 | 0x200

#: Beginnings of names of instructions that change no object; `BINARY_OP` changes one where it assigns.
QUIET = (
    "LOAD_", "STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "BINARY_", "COMPARE_OP", "CONTAINS_OP", "IS_OP",
    "UNARY_", "BUILD_", "POP_", "JUMP_", "RETURN_", "COPY", "DUP_TOP", "SWAP", "ROT_", "CACHE", "NOP", "RESUME",
    "PUSH_NULL", "EXTENDED_ARG", "TO_BOOL", "NOT_TAKEN",
)  # fmt: skip

#: Statements that are recorded; then the tracer leaves.
LIMIT = 400000

#: Written is a part of an object; an object is changed where it lies; it may be.
INSIDE, ALTERS, ACTS = "inside", "alters", "acts"

#: What a frame may be: a function of the program, a call of a module, a loader of data, or none of these.
PROGRAM, MODULE, LOADER, OTHER = range(1, 5)

#: Names that begin so are what instrumented code calls.
OURS = "__dv"


class Lines:
    """The statements of one process, in its first thread.

    Attributes
    ----------
    plans : dict
        By identity of code: what each of its lines reads and writes, False for what is no part of the program.
    frames : dict
        By identity: the trace of each frame of the program that is not left for good.
    """

    def __init__(self, diverging):
        self.diverging = diverging
        self.callers = diverging.process.streams.callers
        self.plans = {}
        self.codes = []
        self.statements = {}
        self.files = {}
        self.frames = {}
        #: What the globals of a frame say of it, and these, by identity: the code of a frame calls an audit hook.
        self.scopes = {}
        self.count = self.made = 0
        #: In a forked child, how many frames its parent had entered.
        self.inherited = 0
        self.is_active = False

    def begin(self):
        """Trace from here on, also the functions that the program is in."""
        self.is_active = True
        frame, around = sys._getframe(1), []
        while frame is not None:
            around.append(frame)
            frame = frame.f_back
        for frame in reversed(around):
            trace = self.enter(frame, "call", None)
            if trace is not None:
                frame.f_trace = trace
                trace.open(frame, frame.f_lineno, frame.f_locals)
        sys.settrace(self.enter)

    def stop(self):
        """Trace no more; the statements under way are written as they are."""
        self.is_active = False
        sys.settrace(None)
        frame = sys._getframe(1)
        while frame is not None:
            trace = self.frames.get(identity(frame))
            if trace is not None and trace.code is frame.f_code:
                frame.f_trace = None
                trace.close(frame, frame.f_locals)
            frame = frame.f_back

    def rest(self):
        """Trace nothing while a library is imported, which takes half as long again; return whether anything was."""
        is_traced = sys.gettrace() == self.enter
        if is_traced:
            sys.settrace(None)
        return is_traced

    def go_on(self):
        """Trace again, unless recording has ended."""
        if self.is_active:
            sys.settrace(self.enter)

    def enter(self, frame, event, argument):
        """Return what traces a frame that is entered; None where it is none of the program's."""
        scope = self.scopes.get(identity(frame.f_globals)) or self.scope(frame.f_globals)
        if scope[0] is not PROGRAM:
            return None
        code = frame.f_code
        # The hash of code takes longer than all else that is done for a function of a library.
        plan = self.plans.get(identity(code))
        if plan is None:
            self.codes.append(code)
            plan = self.plans[identity(code)] = self.plan(frame)
        if plan is False or not self.is_active:
            return None
        known = self.frames.get(identity(frame))
        if known is None or known.code is not code:
            known = self.frames[identity(frame)] = FrameTrace(self, frame, plan)
        return known

    def scope(self, names):
        """Return what frames with these globals are, and the globals, which are kept."""
        file, module = names.get("__file__"), names.get("__name__")
        role = PROGRAM
        if type(file) is str and not self.callers.is_program_file(file, module):
            role = MODULE if module == "torch.nn.modules.module" else OTHER
            role = LOADER if "/torch/utils/data/" in file.replace("\\", "/") else role
        self.scopes[identity(names)] = known = role, names
        return known

    def plan(self, frame):
        """Return what the lines of a frame's code read and write."""
        code = frame.f_code
        if code.co_name in COMPREHENSIONS or not self.callers.is_program(frame):
            return False
        file = code.co_filename
        if file.startswith("<") and "__file__" in frame.f_globals:
            # A method that a library made for a class of the program, such as one of a dataclass, has no lines.
            return False
        if file not in self.statements:
            self.statements[file] = self.diverging.attempt(statement_lines, file) or {}
        return plan_of(code, self.statements[file])

    def file(self, code):
        """Return the file of some code of the program."""
        file = code.co_filename
        if file not in self.files:
            self.files[file] = self.callers.relative(file)
        return self.files[file]

    def trace_of(self, frame):
        """Return what traces a frame, None where nothing does."""
        trace = self.frames.get(identity(frame))
        return trace if trace is not None and trace.code is frame.f_code else None

    def parent(self, frame):
        """Return the number of the innermost traced frame around one."""
        frame = frame.f_back
        while frame is not None:
            trace = self.trace_of(frame)
            if trace is not None:
                return trace.number
            frame = frame.f_back
        return None


class FrameTrace:
    """The statements of one frame; it is what the interpreter calls for each of its lines."""

    def __init__(self, lines, frame, plan):
        self.lines = lines
        self.diverging = lines.diverging
        self.code = frame.f_code
        self.plan = plan
        self.statement = None
        self.number = lines.made
        #: What is known of the frames around it, as long as they stay the same.
        self.around = None
        lines.made += 1
        record = {"e": "frame", "f": self.number, "parent": lines.parent(frame), "file": lines.file(self.code)}
        self.is_outermost = record["parent"] is None or record["parent"] < lines.inherited
        self.diverging.write(dict(record, function=self.code.co_name))

    def __call__(self, frame, event, argument):
        if not self.lines.is_active:
            frame.f_trace = None
            return None
        try:
            if event == "line":
                self.reach(frame, frame.f_lineno)
            elif event == "return":
                self.leave(frame, argument)
        except Exception as error:
            self.diverging.process.events.note("not-compared", repr(error), "lines")
        return self

    def reach(self, frame, line):
        """Go on to a line, which may be one of the same statement."""
        planned = self.plan.get(line)
        if planned is None:
            return
        if planned is not self.statement:
            digests = self.diverging.digests
            digests.states = {}
            names = frame.f_locals
            try:
                self.open(frame, line, names, self.close(frame, names))
            finally:
                digests.states = None

    def open(self, frame, line, names, known=None):
        """Begin with the statement of a line; `known` are digests of names that were taken just before."""
        statement = self.statement = self.plan.get(line)
        if statement is not None:
            self.reads = self.values(names, frame, statement.reads, known or {})
            self.begun = self.diverging.number

    def close(self, frame, names):
        """Write the statement that has ended; return the digests of its names."""
        statement, self.statement = self.statement, None
        if statement is None:
            return None
        # What a statement reads is as it was before, unless it calls something or writes into an object.
        after = self.values(names, frame, statement.names if statement.acts else statement.writes, {})
        stored = statement.writes
        changed = {key: value for key, value in after.items() if key in stored or self.reads.get(key) != value}
        record = {"e": "line", "f": self.number, "line": statement.line, "reads": self.reads, "writes": changed}
        record["begin"] = self.begun
        if statement.seeds:
            record["seeds"] = True
        if statement.stores:
            record["stores"] = True
        if statement.alters or len(changed) > len(stored):
            record["alters"] = True
        self.diverging.write(record)
        self.lines.count += 1
        if self.lines.count >= LIMIT:
            self.diverging.write({"e": "lines end"})
            self.lines.is_active = False
            sys.settrace(None)
        return after

    def leave(self, frame, value):
        """Write what the function returns, or yields."""
        self.close(frame, frame.f_locals)
        if value is not None:
            self.diverging.write({"e": "return", "f": self.number, "value": self.diverging.digests.of(value)})
        if not self.code.co_flags & RESUMED:
            self.lines.frames.pop(identity(frame), None)
        if self.is_outermost and self.lines.inherited:
            # A worker may be ended at any time.
            self.diverging.flush()

    def values(self, local, frame, names, known):
        """Return the digests of what names stand for now, in the function or outside; some are `known`."""
        shared, of = frame.f_globals, self.diverging.digests.of
        values = {}
        for key, chain in names.items():
            root = chain[0]
            if key in known:
                values[key] = known[key]
            elif root in local or root in shared:
                values[key] = of(follow(local[root] if root in local else shared[root], chain))
        return values


def follow(value, chain):
    """Return what a chain of attributes leads to, as far as it can be followed without running code."""
    for name in chain[1:]:
        # Of NumPy only this module draws; the state of a generator takes long to read.
        is_end = isinstance(value, types.ModuleType) and (value.__name__, name) not in FOLLOWED
        if is_end or not hasattr(value, "__dict__"):
            return value
        inside = vars(value)
        if name not in inside:
            return value
        value = inside[name]
    return value


class Statement:
    """What one statement reads and writes: chains of names, by their text."""

    def __init__(self, line):
        self.line = line
        self.reads, self.writes, self.names = {}, {}, {}
        #: It puts a generator into a state of its own; it writes into an object; it changes, or may change, one.
        self.seeds = self.stores = self.alters = self.acts = False

    def add(self, chain, is_written):
        """Add a name with its attributes."""
        if chain[0].startswith(OURS):
            return
        key = ".".join(chain)
        (self.writes if is_written else self.reads)[key] = chain
        self.names[key] = chain
        self.seeds = self.seeds or chain[-1] in SEEDING


def plan_of(code, first_lines):
    """Return the statement of each line of some code."""
    statements, plan = {}, {}

    def statement_at(line):
        first = first_lines.get(line, line)
        if first not in statements:
            statements[first] = Statement(first)
        plan[line] = statements[first]
        return statements[first]

    for line, chain, is_written in uses(code):
        statement = statement_at(line)
        statement.stores = statement.stores or is_written == INSIDE
        statement.alters = statement.alters or is_written == ALTERS
        statement.acts = statement.acts or is_written in (INSIDE, ALTERS, ACTS)
        if chain is not None:
            statement.add(chain, is_written)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and inner.co_name in COMPREHENSIONS:
            for line, chain, is_written in uses(inner):
                if chain is not None and not is_written and chain[0] not in inner.co_varnames:
                    statement_at(line).add(chain, False)
    return plan


def uses(code):
    """Yield each line of some code with a chain of names that it reads, or writes, and whether it writes.

    Without a chain it does neither, writes into an object, `INSIDE`, or changes one, `ALTERS`, or may, `ACTS`.
    """
    starts = dict(dis.findlinestarts(code))
    line, chain, is_import = code.co_firstlineno, None, False
    #: The object of an attribute that is read and then written: it lies twice on the stack.
    target, is_twice = None, False
    for instruction in dis.get_instructions(code):
        started = starts.get(instruction.offset)
        if started is not None:
            line, is_import = started, False
            yield line, None, False
        name, value = instruction.opname, instruction.argval
        if name.startswith("INPLACE_") or (name == "BINARY_OP" and instruction.argrepr.endswith("=")):
            yield line, None, ALTERS
        elif not name.startswith(QUIET):
            yield line, None, ACTS
        # An import gives a module a name; the state of its generator is none of its doing.
        is_import = is_import or name == "IMPORT_NAME"
        if name in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            target, is_twice = chain if is_twice else target, False
            chain = (*chain, value)[:CHAIN]
            continue
        is_twice = chain is not None and name in ("COPY", "DUP_TOP") and instruction.arg in (1, None)
        if is_twice:
            continue
        if name in ("STORE_ATTR", "STORE_SUBSCR"):
            yield line, None, INSIDE
        if name == "STORE_ATTR" and (chain or target) is not None:
            yield line, (*(chain or target), value), True
            chain = target = None
            continue
        if chain is not None:
            yield line, chain, False
            chain = None
        if name.startswith("LOAD_") and name.partition("_")[2].split("_")[0] in ("FAST", "NAME", "GLOBAL", "DEREF"):
            names = value if isinstance(value, tuple) else (value,)
            for earlier in names[:-1]:
                yield line, (earlier,), False
            chain = (names[-1],)
        elif name in ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF") and not is_import:
            yield line, (value,), True
    if chain is not None:
        yield line, chain, False


def statement_lines(file):
    """Return the first line of the statement that each line of a file belongs to; heads of blocks are statements."""
    with open(file, "rb") as source:
        tree = ast.parse(source.read())
    lines = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else getattr(node, "end_lineno", node.lineno)
            for line in range(node.lineno, max(last, node.lineno) + 1):
                if lines.get(line, 0) <= node.lineno:
                    lines[line] = node.lineno
    return lines
