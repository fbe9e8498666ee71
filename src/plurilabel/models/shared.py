"""Parts of models that answers on Dask and the command line use."""

from plurilabel.models._layers import layers
from plurilabel.models._predictions import blocks_for, shared_model, whole
from plurilabel.models._train_blocks import training_on_blocks

__all__ = ["blocks_for", "layers", "shared_model", "training_on_blocks", "whole"]
