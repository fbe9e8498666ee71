"""Speed ratios to other libraries, measured in one run: `python -m benchmarks speed`."""
