"""Starts servers as children of one process, which has imported everything already.

A line on standard input starts one; its process number and address are the answer.
"""

import os
import sys
from pathlib import Path

from tests.serve.problems import lazy


def child(store):
    from plurilabel.serve import Service, run

    def ready(address):
        print(os.getpid(), address, flush=True)

    run(Service(lazy(), store=store), port=0, ready=ready)


if __name__ == "__main__":
    import plurilabel.serve._server  # noqa: F401 - before the first child, once for all

    folder = Path(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        if os.fork() == 0:
            child(folder / line.strip())
            os._exit(0)
        os.wait()
