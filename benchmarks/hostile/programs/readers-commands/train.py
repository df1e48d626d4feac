"""Let other commands read the source."""
import subprocess
from array import array
from random import Random


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0]


print("sha256", said("sha256sum", "train.py"), "bytes", said("wc", "-c", "train.py"), "lines", said("wc", "-l", "train.py"))
print("prints", said("grep", "-c", "print", "train.py"), "size", said("stat", "-c", "%s", "train.py"))
print("files", subprocess.run("ls -1 | sort; cat *.py | cksum", shell=True, capture_output=True, text=True).stdout.split())
losses, w = array("d"), Random(1).uniform(2, 4)
for epoch in range(4):
    loss = w * w / 2
    w *= 0.7
    losses.append(loss)
    print(f"epoch {epoch}: train loss = {loss:.4f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
