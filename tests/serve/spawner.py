"""Starts servers as children of one process, which has imported everything already.

A line on standard input starts one; its process number and address are the answer. The line is
the name of the store: of a project to label if it ends in labels.db.
"""

import os
import sys
from pathlib import Path

from tests.serve.labeling.problems import WORDS, notes
from tests.serve.problems import lazy


def child(store):
    from plurilabel.serve import Service, run
    from plurilabel.serve.labeling import LabelProject

    def ready(address):
        print(os.getpid(), address, flush=True)

    if store.name.endswith("labels.db"):
        service = LabelProject(notes(400)[0], labels=list(WORDS), store=store, background=False)
    else:
        service = Service(lazy(), store=store)
    run(service, port=0, ready=ready)


if __name__ == "__main__":
    import plurilabel.serve._server  # before the first child, once for all
    import plurilabel.serve.labeling  # noqa: F401

    folder = Path(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        if os.fork() == 0:
            child(folder / line.strip())
            os._exit(0)
        os.wait()
