# Ten edits of spirals.py, one after the other, kept or put back by `deviate judge`. Five of them have no effect.
#
#     python research.py    in a copy of this folder: about 60 trainings of a second each
import json
import re
import subprocess
import sys
from pathlib import Path

#: Where the search begins: a small network that learns slowly.
START = [("hidden = 48", "hidden = 12"), ("patience = 0.5,", "patience = 0.1,")]

SHUFFLE = "shuffled = np.random.permutation(len(X_train))"

#: What each edit is called, whether it has an effect, and what it replaces by what.
EDITS = [
    ("smaller constant in the logarithm", False, "1e-12", "1e-15"),
    ("learning rate 0.1 to 0.5", True, "patience = 0.1,", "patience = 0.5,"),
    ("shuffle by sorting random keys", False, SHUFFLE, "shuffled = np.argsort(np.random.rand(len(X_train)))"),
    ("weight decay", True, "W1 -= lr * (", "W1 -= lr * 1e-3 * W1\n        W1 -= lr * ("),
    ("48 hidden units", True, "hidden = 12", "hidden = 48"),
    ("second layer drawn from a fresh stream", False, "W2 = 0.1 * np.random", "np.random.rand()\nW2 = 0.1 * np.random"),
    ("batches of 150", True, "= 0.5, 50,", "= 0.5, 150,"),
    ("a draw that nobody uses", False, SHUFFLE, f"np.random.rand()\n    {SHUFFLE}"),
    ("patience of 60 epochs", True, "1e-3, 15", "1e-3, 60"),
    ("gradient steps in another order", False, "b2 -= lr * d.sum(axis=0)", "b2 = b2 - lr * d.sum(axis=0)"),
]

KEEP, DISCARD, RUN_MORE = 0, 1, 3


def deviate(*words):
    done = subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (KEEP, DISCARD, RUN_MORE):
        sys.exit(done.returncode)
    return done.returncode, json.loads(done.stdout)


script = Path("spirals.py")
text = script.read_text()
for old, new in START:
    text = text.replace(old, new)
script.write_text(text)
train = ["--", sys.executable, "spirals.py"]
_, floor = deviate("baseline", "--metric", "test loss", "--json", *train)
print(f"baseline: test loss {sum(floor['values']) / len(floor['values']):.3f}, {len(floor['values'])} runs")

for name, has_effect, old, new in EDITS:
    assert len(re.findall(re.escape(old), text)) == 1, name
    script.write_text(text.replace(old, new))
    status, judged = deviate("judge", "--json", *train)
    if status == KEEP:
        text = script.read_text()
    else:
        script.write_text(text)
    effect = "" if has_effect else "   (no effect)"
    print(f"{judged['decision']:8} {judged['runs']:2} runs   {judged['mean']:.3f}   {name}{effect}", flush=True)
