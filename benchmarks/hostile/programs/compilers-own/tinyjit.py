"""A compiler of a few lines: what it does not know, it refuses, as numba and Triton do."""
import ast
import inspect
import textwrap

KNOWN = {"range", "abs", "max", "min", "sum", "len"}


def jit(function):
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source[source.index("def ") :])
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in KNOWN):
            raise TypeError(f"line {node.lineno}: cannot compile {ast.unparse(node)}")
        if isinstance(node, (ast.JoinedStr, ast.Lambda, ast.NamedExpr)):
            raise TypeError(f"line {node.lineno}: cannot compile {type(node).__name__}")
    space = {}
    exec(compile(tree, f"<jit {function.__name__}>", "exec"), space)
    return space[function.__name__]
