"""Without torch or river, as on the oldest versions, examples that need them are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/plurilabel/neural/*.py"]
collect_ignore_glob += [] if find_spec("river") else ["src/plurilabel/streams/*.py"]
