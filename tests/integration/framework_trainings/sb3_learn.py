"""An algorithm of Stable-Baselines3 learns; a callback of the program keeps what it logged."""

import json

from stable_baselines3 import PPO
from stable_baselines3.common.logger import KVWriter, Logger

logged = []


class Kept(KVWriter):
    """Keeps each line of the table."""

    def write(self, key_values, key_excluded, step=0):
        logged.append({key: float(value) for key, value in key_values.items()})

    def close(self):
        with open("logged.json", "w") as file:
            json.dump(logged, file)


model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, verbose=1)
model.set_logger(Logger(folder=None, output_formats=[Kept()]))
model.learn(total_timesteps=192)
model.logger.close()
