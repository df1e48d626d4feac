"""What compiles functions of the program compiles what their author wrote."""

from __future__ import annotations

from pathlib import Path

from programs import Both

TORCH = """
import torch, warnings
warnings.simplefilter('error', torch.jit.TracerWarning)
class Net(torch.nn.Module):
    def forward(self, x):
        loss = (x * 2).sum()
        print('scripted', loss)
        return loss
def direct(x):
    loss = (x * 2).sum()
    total = loss
    for each in range(2):
        total = total + loss
    return total
def shown(x):
    loss = (x * 2).sum()
    print(f'{loss.shape}')
    return loss
x = torch.ones(3)
print(torch.jit.script(Net())(x), torch.jit.script(direct).code.count('loss'))
print(torch.compile(direct, fullgraph=True, backend='eager')(x))
print(torch.jit.trace(shown, x).graph.findAllNodes('aten::sum').__len__(), torch.fx.symbolic_trace(direct).code)
print(len(torch.export.export(Net(), (x,), strict=False).graph.nodes))
loss = direct(x).item()
print(loss)
"""


def test_what_pytorch_compiles_scripts_and_traces_is_the_authors(both: Both) -> None:
    assert both(TORCH, bare_in="torch", control="observe", seeds=None).values()[-1] == 18.0


NUMBA = """
class FunctionIdentity:
    @classmethod
    def from_function(cls, function):
        return sorted(function.__code__.co_names)
"""


def test_numba_reads_the_code_of_the_author(both: Both, tmp_path: Path) -> None:
    package = tmp_path / "library" / "numba" / "core"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package.parent / "__init__.py").write_text("")
    (package / "bytecode.py").write_text(NUMBA)
    seen = both(
        """
        from numba.core.bytecode import FunctionIdentity
        def make(k):
            def inner(loss):
                return abs(loss) + k + round(loss)
            return inner
        first, second = make(1), make(2)
        print(FunctionIdentity.from_function(first), first(3), second(4))
        """,
        path=(tmp_path / "library",),
    )
    assert seen.values() == [4.0, 4.0]
