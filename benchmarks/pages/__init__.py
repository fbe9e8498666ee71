"""The programs behind the pages of figures: `python -m benchmarks NAME`, a page each."""
