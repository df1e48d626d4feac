"""Write small labelled graphs in the format of powerful-gnns: `molecules.py FILE`."""

import random
import sys
from pathlib import Path

draw = random.Random(1)
target = Path(sys.argv[1])
target.parent.mkdir(parents=True, exist_ok=True)
lines = ["60"]
for number in range(60):
    size = draw.randint(5, 9)
    neighbours = [{(node - 1) % size, (node + 1) % size} for node in range(size)]
    if number % 2:
        neighbours[0].add(size // 2)
        neighbours[size // 2].add(0)
    lines.append(f"{size} {number % 2}")
    lines += [f"{draw.randrange(3)} {len(near)} {' '.join(map(str, sorted(near)))}" for near in neighbours]
target.write_text("\n".join(lines) + "\n")
