from .trainer import Trainer as Trainer
