"""Without torch, as on the oldest versions, the examples of what needs it are left out."""

from importlib.util import find_spec

collect_ignore_glob = []
if not find_spec("torch"):
    collect_ignore_glob += ["src/plurilabel/neural/*.py", "src/plurilabel/neighbors/_device/*.py"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/plurilabel/neighbors/_device/kernels.py"]
