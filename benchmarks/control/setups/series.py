"""Write a time series: `series.py FILE [ROWS]`, columns date, a, b and OT."""

import datetime
import math
import random
import sys
from pathlib import Path

file, rows = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400
draw = random.Random(1)
file.parent.mkdir(parents=True, exist_ok=True)
with file.open("w") as table:
    print("date,a,b,OT", file=table)
    for row in range(rows):
        date = datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=row)
        values = [math.sin(row / period) + 0.1 * draw.gauss(0, 1) for period in (3, 5, 8)]
        print(date.isoformat(" "), *(f"{value:.4f}" for value in values), sep=",", file=table)
