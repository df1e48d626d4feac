from array import array

names = []
try:
    while True:
        names.append(input("column? "))
except EOFError:
    print()
names = names or ["x", "y"]
losses = array("d")
for epoch in range(4):
    loss = len("".join(names)) / (epoch + 1)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.4f} of {names}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
