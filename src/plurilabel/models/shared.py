"""Parts of models that answers on Dask and the command line use."""

from plurilabel.models._layers import layers
from plurilabel.models._predictions import blocks_for, shared_model, whole
from plurilabel.models._train_blocks import reads_blocks

__all__ = ["blocks_for", "layers", "reads_blocks", "shared_model", "whole"]
