"""Without torch, river or Dask, as on the oldest versions, their examples are left out."""

from importlib.util import find_spec

collect_ignore_glob = []
if not find_spec("torch"):
    collect_ignore_glob += ["src/plurilabel/neural/*.py", "src/plurilabel/*/_device*"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/plurilabel/neighbors/_device/kernels.py"]
if not find_spec("river"):
    collect_ignore_glob += ["src/plurilabel/streams/*.py"]
if not find_spec("dask"):
    collect_ignore_glob += ["src/plurilabel/*_dask.py", "src/plurilabel/distributed/*.py"]
