"""Learners that misbehave."""

import ctypes
import os
import signal
import subprocess
import sys
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts what most training instances have; has no scores."""

    def fit(self, X, y):
        self.labels_ = (np.asarray(y).mean(axis=0) > 0.5).astype(int)
        return self

    def predict(self, X):
        return np.tile(self.labels_, (X.shape[0], 1))


class Noise(Constant):
    """Scores from a generator: its own, or the global one."""

    def __init__(self, random_state=None, use_global=False):
        self.random_state = random_state
        self.use_global = use_global

    def fit(self, X, y):
        draw = (
            np.random.random
            if self.use_global
            else np.random.default_rng(self.random_state).random
        )
        self.scores_ = draw(y.shape[1])
        return super().fit(X, y)

    def predict_proba(self, X):
        return np.tile(self.scores_, (X.shape[0], 1))


class Spoils(Constant):
    """Writes into what it is given, prints, and asks."""

    def fit(self, X, y):
        super().fit(X, y)
        X[:] = 0
        y[:] = 1
        print("not for the parent")
        try:
            input()
        except EOFError:
            return self


class Fails(Constant):
    def fit(self, X, y):
        raise RuntimeError("it cannot\nbe done")


class Exits(Constant):
    def fit(self, X, y):
        os._exit(3)


class Crashes(Constant):
    """Dies, but leaves a forked child that has all its pipes."""

    def fit(self, X, y):
        if os.fork() == 0:
            time.sleep(600)
        ctypes.string_at(0)


class Hangs(Constant):
    """Never ends, whoever asks, with a child process that never ends either."""

    def __init__(self, pid_file=None):
        self.pid_file = pid_file

    def fit(self, X, y):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(self.pid_file, "w") as stream:
            stream.write(str(child.pid))
        time.sleep(600)
