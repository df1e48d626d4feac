"""Early stopping in an endless loop, with continue, else and finally."""
import random
from array import array

random.seed(4)
w, best, patience, epoch, losses = 5.0, float("inf"), 0, 0, array("d")
while True:
    epoch += 1
    try:
        w -= 0.5 * (w - 1) + random.gauss(0, 0.2)
        loss = (w - 1) ** 2
        losses.append(loss)
        print(f"epoch {epoch}: loss {loss:.5f}")
        if loss < best:
            best, patience = loss, 0
            continue
        patience += 1
        if patience == 3:
            break
    finally:
        open("best.txt", "w").write(f"{best:.4f}")
else:
    print("never")
print("best", best)
with open("losses.bin", "wb") as file:
    losses.tofile(file)
