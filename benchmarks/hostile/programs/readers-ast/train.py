"""Specialise a function by its own syntax tree, as small just-in-time compilers do, and run that."""
import ast
import inspect
import textwrap
import tokenize
from array import array
from random import Random


class Unroll(ast.NodeTransformer):
    def visit_Name(self, node):
        return ast.copy_location(ast.Constant(0.4), node) if node.id == "RATE" else node


def specialise(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list.clear()
    calls = sorted({ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)})
    print("calls", calls, "nodes", sum(1 for _ in ast.walk(tree)))
    space = {"array": array, "Random": Random}
    exec(compile(ast.fix_missing_locations(Unroll().visit(tree)), "<specialised>", "exec"), space)
    return space[function.__name__]


@specialise
def train(epochs):
    w, losses = Random(1).uniform(2, 4), array("d")
    for epoch in range(epochs):
        loss = (w - 1) ** 2
        w -= RATE * (w - 1)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.6f}")
    return losses


with open(__file__, "rb") as source:
    print("tokens", sum(1 for _ in tokenize.tokenize(source.readline)))
result = train(5)
with open("losses.bin", "wb") as file:
    result.tofile(file)
