"""Run every benchmark, or those named: ``python -m benchmarks lazy metrics``."""

import importlib
import pkgutil
import sys

import benchmarks

wanted = {f"bench_{name}" for name in sys.argv[1:]}
for module in pkgutil.iter_modules(benchmarks.__path__):
    if module.name.startswith("bench_") and (not wanted or module.name in wanted):
        print(f"\n== {module.name.removeprefix('bench_')}", flush=True)
        importlib.import_module(f"benchmarks.{module.name}").main()
