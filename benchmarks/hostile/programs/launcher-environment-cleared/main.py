"""Clear the environment first and train in a worker process started by command line."""
import os
import subprocess
import sys

path = os.environ["PATH"]
os.environ.clear()
os.environ["PATH"] = path
worker = subprocess.Popen([sys.executable, "-u", "train.py"], stdout=subprocess.PIPE, text=True)
for line in worker.stdout:
    print("worker:", line, end="")
sys.exit(worker.wait())
