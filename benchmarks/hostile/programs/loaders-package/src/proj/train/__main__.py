import sys

from ..data import load
from .loop import train

print("package", __package__, "spec", __spec__.name, "arguments", sys.argv[1:])
train(load(), int(sys.argv[2]))
