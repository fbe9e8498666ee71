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
    assert "is there already" in run("export", model, out).err
    assert run("export", model, out, "--force").status == 0
    assert "ends in .onnx" in run("export", model, tmp_path / "m.pt").err
