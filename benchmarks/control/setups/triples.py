"""Write a small knowledge graph: `triples.py FOLDER`."""

import random
import sys
from pathlib import Path

folder = Path(sys.argv[1])
draw = random.Random(1)
folder.mkdir(parents=True, exist_ok=True)
for name, count in (("train", 300), ("valid", 30), ("test", 30)):
    lines = [f"e{draw.randrange(40)}\tr{draw.randrange(4)}\te{draw.randrange(40)}" for _ in range(count)]
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
