"""Speed beside peers, as ratios measured in one run: `python -m benchmarks speed`."""
