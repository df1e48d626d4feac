import sys
from array import array

if __name__ == "__main__":
    w, losses = 0.0, array("d")
    for epoch in range(int(sys.argv[2])):
        loss = sum((w - p) ** 2 for p in points) / len(points)
        w -= sum(w - p for p in points) / len(points) * 0.5
        losses.append(loss)
        print(f"{sys.argv[0]} epoch {epoch} loss {loss:.5f}")
    with open("losses.bin", "wb") as file:
        losses.tofile(file)
