"""``plurilabel export``."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skops", reason="model files need skops")
pytest.importorskip("onnx", reason="graphs are written with onnx")
pytest.importorskip("onnxruntime", reason="graphs are run by onnxruntime")

import onnxruntime

from plurilabel.models import load_model


def test_export_of_a_table(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"b": rng.normal(size=40), "a": rng.normal(size=40)})
    tags = [";".join(["up"] * (a > 0) + ["low"] * (a < 0.5)) for a in frame["a"]]
    frame.assign(tags=tags).to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.skops", tmp_path / "m.onnx"
    done = run("fit", tmp_path / "t.csv", "--labels", "tags", "--learner",
               "StandardScaler | MLkNN(n_neighbors=3)", "--holdout", 0, "-o", model)  # fmt: skip
    assert done.status == 0, done.err
    done = run("export", model, out)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Wrote {out} (2 features, 2 labels, ")
    labels = onnxruntime.InferenceSession(out).run(["labels"], {"X": frame.to_numpy()})[0]
    loaded = load_model(model)
    names = np.array(loaded.label_names)
    assert [tuple(names[row == 1]) for row in labels] == loaded.predict(frame)
    assert "already exists" in run("export", model, out).err
    assert run("export", model, "-o", out, "--force").status == 0
    assert "expected one output file" in run("export", model).err
    assert "expected one output file" in run("export", model, out, "-o", out).err
    assert "ends in .onnx" in run("export", model, tmp_path / "m.pt").err


def test_fit_exportable(run, tmp_path):
    notes = ["a red day by the sea", "one blue night", "the red sea", "blue stars at night"] * 12
    table = pd.DataFrame(
        {"note": notes, "n": range(48), "tags": ["red;day", "blue", "red", ""] * 12}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.skops", tmp_path / "m.onnx"
    options = [tmp_path / "t.csv", "--labels", "tags", "--text", "note", "-o", model]
    refused = run("fit", *options, "--exportable", "--learner", "BinaryRelevance(GaussianNB)")
    assert refused.status != 0 and "GaussianNB cannot be exported" in refused.err
    done = run("fit", *options, "--exportable", "--quick")
    assert done.status == 0, done.err
    assert run("export", model, "-o", out).status == 0
    inputs = {"note": np.array(notes, dtype=object), "n": np.arange(48.0)}
    labels, names = onnxruntime.InferenceSession(out).run(["labels", "names"], inputs)
    assert [tuple(names[row == 1]) for row in labels] == load_model(model).predict(table)
