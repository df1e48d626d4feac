import os
import runpy
import sys

stages = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stages")
space = runpy.run_path(os.path.join(stages, "prepare.py"), init_globals={"SIZE": 30})
sys.argv = ["train.py", "--epochs", "4"]
out = runpy.run_path(os.path.join(stages, "train.py"), init_globals={"points": space["points"]}, run_name="__main__")
print("names", sorted(name for name in out if not name.startswith("_")))
sys.path.insert(0, stages)
runpy.run_module("evaluate", run_name="__main__", alter_sys=True)
