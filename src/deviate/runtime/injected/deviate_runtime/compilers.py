"""What compiles functions of the program gets them as their author wrote them: nothing of the runtime is compiled.

Tools that run a script in their own process (profilers, debuggers, IPython) compile its text themselves, and are given
the instrumented code. So in their processes, and in no other, `compile` knows which text is
that of a file whose code is given.
"""

import builtins
import os
import sys
from functools import partial

from .given import program_words, read
from .patching import replaces
from .wraps import BASES, NotANumberError, read_element

#: The argument that each function which instrumented code calls hands on.
HANDED_ON = {"__dv__": 1, "__dv_map__": 1, "__dv_beside__": 1, "__dv_draw__": 1, "__dv_side__": 2, "__dv_while__": 0}


def leave_out_of_graphs(dynamo, process):
    """Have ``torch.compile`` take what instrumented code calls for what it hands on; no graph ends there.

    Where that cannot be said, in old versions, it does not look into these functions.
    """
    substitute = getattr(getattr(dynamo, "decorators", None), "substitute_in_graph", None)
    functions = {getattr(builtins, name): place for name, place in HANDED_ON.items()}
    loop = builtins.__dv_loop__
    functions[loop.args[0] if isinstance(loop, partial) else loop] = 0
    for function, place in functions.items():
        if substitute is None:
            function._torchdynamo_disable = True
            continue
        vars(function).pop("_torchdynamo_disable", None)
        # The compiler passes over this file, so what it looks into comes from another one.
        namespace = {}
        text = "def hand_on(*args, **kwargs):\n    return args[%d]\n" % place
        exec(compile(text, "<handed on>", "exec"), namespace)
        substitute(function)(namespace["hand_on"])


def leave_traces_alone(torch, process):
    """Have no tensor read while PyTorch notes what is done with it: that would be in the trace."""
    tracing = torch._C._get_tracing_state
    modes = getattr(torch._C, "_len_torch_dispatch_stack", int)

    def read_tensor(value):
        if tracing() is not None or modes():
            raise NotANumberError("it is traced")
        return read_element(value)

    BASES[torch.Tensor] = read_tensor


def give_authors_code(bytecode, process):
    """Have numba, which reads the code of functions, find that of the author."""
    plain = bytecode.FunctionIdentity.from_function.__func__

    def from_function(cls, function):
        try:
            code = authors_code(process.given, function.__code__)
            if code is not None:
                function.__code__ = code
        except Exception as error:
            process.events.note("compiled-as-instrumented", repr(error), "compiled")
        return plain(cls, function)

    bytecode.FunctionIdentity.from_function = classmethod(from_function)


def authors_code(given, code):
    """Return the code of a function as its author wrote it; None where that is not known, or what it is already."""
    path = code.co_filename
    if not any(name.startswith("__dv") for name in names(code)) or given.find(path) is None:
        return None
    whole = compile(read(path), path, "exec", dont_inherit=True)
    alike = [each for each in codes(whole) if identity(each) == identity(code)]
    return alike[0] if len(alike) == 1 else None


def names(code):
    """Yield the names of globals that code uses, and all code within."""
    for each in codes(code):
        yield from each.co_names


def codes(code):
    """Yield code and all code within."""
    yield code
    for each in code.co_consts:
        if isinstance(each, type(code)):
            yield from codes(each)


def identity(code):
    """Return by what a function is known: where it begins, what it is called and what it takes and closes over."""
    name = getattr(code, "co_qualname", code.co_name)
    return name, code.co_firstlineno, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], code.co_freevars


#: By the name of their program or module.
TOOLS = ("cProfile", "profile", "pdb", "trace", "IPython", "ipython", "ipython3", "coverage", "kernprof")
TOOLS += ("torch.utils.bottleneck",)

#: What `compile` is asked for that wants no code.
ONLY_TREE = 0x400


def watch_tools(process):
    """Have `compile` give code, if this is the process of such a tool."""
    words = program_words()
    name = words[-1] if "-m" in words else os.path.basename(words[-1]) if words else ""
    if name not in TOOLS or not process.given.files or hasattr(builtins.compile, "_deviate"):
        return
    import __future__

    futures = 0
    for feature in __future__.all_feature_names:
        futures |= getattr(__future__, feature).compiler_flag
    plain = builtins.compile

    @replaces(builtins, "compile")
    def compile_given(source, filename, mode, flags=0, dont_inherit=False, optimize=-1, **further):
        if mode == "exec" and not flags & ONLY_TREE and isinstance(filename, str):
            path = os.path.abspath(filename)
            if process.given.find_safely(path) is not None and is_text_of(path, source):
                code = process.given.code(path, filename)
                if code is not None:
                    return code
        if not dont_inherit:
            flags |= sys._getframe(1).f_code.co_flags & futures
        return plain(source, filename, mode, flags, True, optimize, **further)


def is_text_of(path, source):
    """Tell whether a text is what is in a file, but for its line ends."""
    data = read(path)
    if isinstance(source, str):
        return source.split() == data.decode("utf-8-sig", "replace").split()
    return source == data
