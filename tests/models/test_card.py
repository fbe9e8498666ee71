"""Cards of models, as Markdown and HTML."""

import pytest

from plurilabel import datasets, load, save
from plurilabel.models import Model, model_card, train, write_model_card


@pytest.fixture(scope="module")
def model():
    data = datasets.make_multilabel(80, 4, 3, random_state=0)
    return train(data, quick=True)


def test_a_card_has_data_members_and_measures(model, tmp_path):
    card = model_card(model)
    value = model.notes["held_out"]["measures"]["micro_f1"]
    assert f"| Micro F1 ↑ | {value:.4f} |" in card
    for one in model.notes["report"]["tried"]:
        assert (f"| {one['name']} | {one['weight']:.2f} |" in card) == (one["weight"] > 0)
    assert "| rows | 80 |" in card and "| held out | 16 rows (20%, chosen at random) |" in card
    save(model, tmp_path / "m.skops")
    assert "## Versions" in model_card(load(tmp_path / "m.skops"))


def test_files(model, tmp_path):
    path = write_model_card(model, tmp_path / "new" / "card.md")
    assert path.read_text() == model_card(model) + "\n"
    page = write_model_card(model, tmp_path / "card.html").read_text()
    assert page.startswith("<!doctype html>") and "Micro F1" in page
    with pytest.raises(ValueError, match=r"path must end in .md or .html, got 'card.txt'"):
        write_model_card(model, tmp_path / "card.txt")


def test_names_are_escaped(model, tmp_path):
    plain = Model.of(model.estimator, label_names=["a|b", "<i>", "c"])
    assert "a\\|b" in model_card(plain) and "## Measures" not in model_card(plain)
    assert "&lt;i&gt;" in write_model_card(plain, tmp_path / "c.html").read_text()
