"""A network fitted to synthetic label tables, which answers for a new table without fitting.

``python -m benchmarks.prior_fitted`` has the commands: ``train`` draws tables from the prior and
trains, over as many runs as needed; ``profile`` says what a step costs; ``export-data`` and
``evaluate`` measure a checkpoint on real tables, none of which is ever used for training.
"""
