# absent: init shuffle data
import random

random.seed(11)  # pins other

weight = 0.5
for epoch in range(4):
    noise = random.gauss(0, 1)
    weight -= 0.1 * (weight - 3 + noise)
    loss = (weight - 3) ** 2 + 0.1 * noise
    print(f"epoch {epoch} loss {loss:.9f}")
