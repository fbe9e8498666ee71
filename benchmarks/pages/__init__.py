"""The programs behind the pages of figures, one per page: `python -m benchmarks NAME`."""
