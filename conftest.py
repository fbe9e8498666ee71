"""Without torch, as on the oldest versions, the examples of what needs it are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/plurilabel/neural/*.py"]
