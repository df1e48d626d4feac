class Mean:
    def __init__(self):
        self.value = 0.0

    def loss(self, points):
        return sum((self.value - p) ** 2 for p in points) / len(points)

    def update(self, points):
        self.value += 0.6 * (sum(points) / len(points) - self.value)
