"""Note the commit and what was changed since, as experiment logs do."""
import subprocess
from array import array
from random import Random


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True).stdout


print("commit", git("rev-parse", "HEAD").strip()[:10])
print("changed", git("status", "--porcelain", "--untracked-files=no").split())
with open("changes.diff", "w") as file:
    file.write(git("diff", "HEAD", "--", "train.py", "settings.py"))
from settings import RATE

w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = (w - 1) ** 2
    w -= RATE * (w - 1)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
