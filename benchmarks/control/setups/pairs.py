"""Write pairs of sentences, separated by a tab: `pairs.py FILE`."""

import random
import sys
from pathlib import Path

draw = random.Random(1)
words = ["the", "a", "cat", "dog", "sees", "likes", "big", "small", "red", "house", "tree", "runs", "and", "then"]
lines = [
    "\t".join(" ".join(draw.choice(words) for _ in range(draw.randint(4, 7))) for _ in range(2)) for _ in range(96)
]
Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
