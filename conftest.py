"""Where a library is missing, as on the oldest versions, examples that need it are left out."""

import os
import sys
from importlib.util import find_spec

# One backend for all tests: older versions of matplotlib warn if open figures see it change.
os.environ["MPLBACKEND"] = "agg"

# MLflow itself warns, and warnings are errors: tests/test_mlflow.py runs its examples
collect_ignore_glob = ["src/plurilabel/models/mlflow.py"]
if not find_spec("torch"):
    collect_ignore_glob += ["src/plurilabel/learners/neural/*.py", "src/plurilabel/*/_gpu*"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/plurilabel/neighbors/_gpu/kernels.py"]
if not find_spec("river"):
    collect_ignore_glob += ["src/plurilabel/streams/*.py"]
if not find_spec("dask"):
    collect_ignore_glob += ["src/plurilabel/distributed/*.py"]
if not find_spec("onnx") or not find_spec("onnxruntime"):
    collect_ignore_glob += ["src/plurilabel/models/onnx/*.py"]
if not (find_spec("fastapi") and find_spec("uvicorn")):
    collect_ignore_glob += [
        f"src/plurilabel/serve/{name}.py" for name in ("_app", "_http", "_routes", "_server")
    ]

# examples in docstrings that a package's ``__init__`` publishes
NEED = {"plurilabel.DaskIndex": "dask", "plurilabel.models.save_parts": "dask"}
NEED |= {"plurilabel.StaticEncoder": "wordllama"}


def pytest_collection_modifyitems(items):
    """Leave out the examples of those for which a library is missing."""
    missing = {name for name, library in NEED.items() if not find_spec(library)}
    items[:] = [item for item in items if item.name not in missing]


def pytest_runtest_teardown():
    """Close the figures that a test or an example leaves open."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
