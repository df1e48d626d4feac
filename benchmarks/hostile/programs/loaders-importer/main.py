"""Modules end in .model and are found by an importer of the program's own."""
import importlib.abc
import importlib.util
import sys
from pathlib import Path


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        file = Path(__file__).parent / "plugins" / f"{name}.model"
        return importlib.util.spec_from_loader(name, Loader(file), origin=str(file)) if file.exists() else None


class Loader(importlib.abc.SourceLoader):
    def __init__(self, file):
        self.file = file

    def get_filename(self, name):
        return str(self.file)

    def get_data(self, path):
        return Path(path).read_bytes()


sys.dont_write_bytecode = True
sys.meta_path.insert(0, Finder())
import linear

print("loaded by", type(linear.__loader__).__name__, linear.__spec__.origin.split("/")[-1])
linear.train(5)
