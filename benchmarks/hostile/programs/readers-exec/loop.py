from array import array


def loop(epochs):
    w, losses = 2.0, array("d")
    for epoch in range(epochs):
        loss = sum((w - p) ** 2 for p in points) / len(points)
        w -= 0.5 * sum(w - p for p in points) / len(points)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
    with open("losses.bin", "wb") as file:
        losses.tofile(file)
