"""How benchmarks are run: peers in processes of their own, turns, memory, the page."""
