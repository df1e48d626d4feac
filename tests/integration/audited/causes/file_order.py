import os
import random

random.seed(7)

os.makedirs("parts", exist_ok=True)
for n in range(6):
    with open(f"parts/{n}.txt", "w") as file:
        file.write(str(random.gauss(n, 1)))
parts = [float(open(f"parts/{name}").read()) for name in os.listdir("parts")]  # cause: files
weight = random.gauss(0, 1)
for epoch in range(4):
    for part in parts:
        weight -= 0.1 * (weight - part)
    loss = (weight - parts[0]) ** 2
    print(f"epoch {epoch} loss {loss:.9f}")
