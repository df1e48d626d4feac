"""Learn online from lines as they come."""
import sys
from array import array

a, losses = 0.0, array("d")
total = 0.0
for number, line in enumerate(sys.stdin, 1):
    x, y = map(float, line.split())
    error = a * x - y
    a -= 0.02 * error * x
    total += error * error
    if number % 10 == 0:
        loss = total / 10
        losses.append(loss)
        print(f"after {number} lines: loss {loss:.4f}")
        total = 0.0
print("lines", number if losses else 0)
with open("losses.bin", "wb") as file:
    losses.tofile(file)
