"""Models: trained, saved, loaded and exported."""

from plurilabel._core.roster import publish
from plurilabel.models._card import model_card, write_model_card
from plurilabel.models._file import ModelFileError, load_model, save_model
from plurilabel.models._issues import find_issues
from plurilabel.models._model import Model
from plurilabel.models._model_rows import ModelRows
from plurilabel.models._parts import load_parts, save_parts
from plurilabel.models._predictions import Written, evaluate_files, write_predictions
from plurilabel.models._refine import calibrate, guarantee
from plurilabel.models._train import train
from plurilabel.models._train_events import TrainingEvent
from plurilabel.models.onnx import not_exportable, to_onnx

__all__ = [
    "Model", "ModelFileError", "ModelRows", "TrainingEvent", "Written", "calibrate",
    "evaluate_files", "find_issues", "guarantee", "load_model", "load_parts", "model_card",
    "not_exportable", "save_model", "save_parts", "to_onnx", "train", "write_model_card",
    "write_predictions",
]  # fmt: skip

publish(globals())
