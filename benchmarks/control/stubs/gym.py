"""The interface of Gym before 0.26, as older programs use it, over Gymnasium."""

import warnings

import gymnasium
from gymnasium import spaces as spaces

warnings.filterwarnings("ignore")


class _Environment:
    """An environment whose reset returns the observation and whose step returns four values."""

    def __init__(self, name):
        self.inner = gymnasium.make(name)
        self.action_space = self.inner.action_space
        self.observation_space = self.inner.observation_space
        self.first_seed = None
        if hasattr(self.action_space, "n"):
            self.action_space.n = int(self.action_space.n)

    def seed(self, seed=None):
        self.first_seed = seed
        self.action_space.seed(seed)

    def reset(self):
        seed, self.first_seed = self.first_seed, None
        return self.inner.reset(seed=seed)[0]

    def step(self, action):
        observation, reward, terminated, truncated, info = self.inner.step(action)
        return observation, reward, terminated or truncated, info

    def render(self, *_, **__):
        return None

    def close(self):
        self.inner.close()

    @property
    def unwrapped(self):
        return self

    @property
    def _max_episode_steps(self):
        return self.inner.spec.max_episode_steps

    @property
    def spec(self):
        return self.inner.spec


def make(name, **_):
    """Return the environment of that name."""
    return _Environment(name)


Env = _Environment
