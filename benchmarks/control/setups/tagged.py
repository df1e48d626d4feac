"""Write sentences whose words carry tags, `word/TAG`: `tagged.py FILE`."""

import random
import sys
from pathlib import Path

draw = random.Random(1)
words = {"B": ["paris", "rome", "oslo"], "O": ["is", "a", "city", "in", "the", "north", "big"], "V": ["sleeps", "runs"]}
lines = []
for _ in range(150):
    tags = [draw.choice("BOOV") for _ in range(draw.randint(3, 8))]
    lines.append(" ".join(f"{draw.choice(words[tag])}/{tag}" for tag in tags))
Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
