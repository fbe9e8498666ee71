"""Without torch, river or onnxruntime, as on the oldest versions, their examples are left out."""

from importlib.util import find_spec

collect_ignore_glob = []
if not find_spec("torch"):
    collect_ignore_glob += ["src/plurilabel/neural/*.py", "src/plurilabel/neighbors/_device/*.py"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/plurilabel/neighbors/_device/kernels.py"]
if not find_spec("river"):
    collect_ignore_glob += ["src/plurilabel/streams/*.py"]
if not find_spec("onnx") or not find_spec("onnxruntime"):
    collect_ignore_glob += ["src/plurilabel/export/*.py"]
