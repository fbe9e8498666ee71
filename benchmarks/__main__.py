"""Run every benchmark, or those named: ``python -m benchmarks lazy metrics``."""

import os

from benchmarks._threads import ONE_THREAD

os.environ.update(ONE_THREAD)  # before numpy is loaded

from benchmarks._program import main

if __name__ == "__main__":
    main()
