import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images = images
        self.labels = labels
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        if self.transform is not None:
            image = self.transform(image)
        return torch.from_numpy(image).unsqueeze(0), int(self.labels[i])


class RandomShift:
    def __init__(self, padding=1):
        self.padding = padding

    def __call__(self, image):
        height, width = image.shape
        padded = np.pad(image, self.padding)
        top = np.random.randint(0, 2 * self.padding + 1)
        left = np.random.randint(0, 2 * self.padding + 1)
        return padded[top : top + height, left : left + width].copy()


class GaussianNoise:
    def __init__(self, std=0.05):
        self.std = std

    def __call__(self, image):
        noise = torch.randn(image.shape).numpy()
        return image + self.std * noise


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


def get_loaders(batch_size):
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)
    # the split must be the same for everyone who uses it, whatever the seed
    order = np.random.RandomState(2024).permutation(len(images))
    train, val = order[:1400], order[1400:]
    train_set = Digits(images[train], digits.target[train], Compose([RandomShift(1), GaussianNoise(0.05)]))
    val_set = Digits(images[val], digits.target[val])
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=256)
    return train_loader, val_loader
