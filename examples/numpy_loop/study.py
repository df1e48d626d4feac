# Ten edits of spirals.py, one after the other, kept or put back by `deviate judge`. Five of them have no effect.
#
#     python study.py    in a copy of this folder, since it edits spirals.py: some 50 trainings of a second each
import json
import re
import subprocess
import sys
from pathlib import Path

#: Where the search begins: large batches and a small learning rate.
START = "lr, batch_size, tolerance, patience = 0.1, 150, 1e-3, 15"

SHUFFLE = "shuffled = np.random.permutation(len(X_train))"

#: What each edit is called, whether it has an effect, and what it replaces by what.
EDITS = [
    ("smaller constant in the logarithm", False, "1e-12", "1e-15"),
    ("batches of 50", True, "= 0.1, 150,", "= 0.1, 50,"),
    ("shuffle by sorting random keys", False, SHUFFLE, "shuffled = np.argsort(np.random.rand(len(X_train)))"),
    ("weight decay", True, "W1 -= lr * (", "W1 -= lr * 1e-2 * W1\n        W1 -= lr * ("),
    ("a draw before the second layer", False, "W2 = 0.1 * np.random", "np.random.rand()\nW2 = 0.1 * np.random"),
    ("learning rate 0.5", True, "patience = 0.1,", "patience = 0.5,"),
    ("another draw in each epoch", False, "    epoch += 1", "    epoch += 1\n    np.random.rand()"),
    ("patience of 60 epochs", True, "1e-3, 15", "1e-3, 60"),
    ("bias added in another way", False, "b2 -= lr * d.sum(axis=0)", "b2 = b2 - lr * d.sum(axis=0)"),
    ("batches of 300", True, "0.5, 50,", "0.5, 300,"),
]

KEEP, DISCARD, RUN_MORE = 0, 1, 3


def deviate(*words):
    done = subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (KEEP, DISCARD, RUN_MORE):
        sys.exit(done.returncode)
    return done.returncode, json.loads(done.stdout)


script = Path("spirals.py")
text = script.read_text()
text = re.sub("lr, batch_size, tolerance, patience = .*", START, text)
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
    runs = f"{judged['runs']} run{'s' if judged['runs'] > 1 else ''}"
    print(f"{judged['decision']:10} {runs:8} {judged['mean']:.3f}   {name}{effect}", flush=True)
