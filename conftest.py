"""Without torch, river or FastAPI, examples that need them are left out."""

from importlib.util import find_spec

collect_ignore_glob = []
if not find_spec("torch"):
    collect_ignore_glob += ["src/plurilabel/neural/*.py", "src/plurilabel/neighbors/_device/*.py"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/plurilabel/neighbors/_device/kernels.py"]
if not find_spec("river"):
    collect_ignore_glob += ["src/plurilabel/streams/*.py"]
if not (find_spec("fastapi") and find_spec("uvicorn")):
    collect_ignore_glob += [
        f"src/plurilabel/serve/_{name}.py" for name in ("app", "examples", "server")
    ]
