"""The module that trains is imported by its name."""

# expect loss = loss (\S+)

import importlib

task = importlib.import_module('small.tasks.line')
task.train(3)
