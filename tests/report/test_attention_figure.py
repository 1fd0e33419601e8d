"""Figure 3: J, the head of each layer that fits it best, and every head's correlation."""

import json

import numpy as np

from unmasq.report.attention_figure import attention_figure
from unmasq.report.page import paper_sections
from unmasq.report.results_folder import ResultsFolder
from unmasq.report.stored_figures import stored_figures, unmeasured


def test_it_is_drawn_where_there_is_a_record_and_named_where_there_is_none(tmp_path):
    (tmp_path / "counts.csv").write_text("")
    folder = ResultsFolder(tmp_path)
    assert any(line.startswith("paper-fig3: not measured") for line in unmeasured(folder))
    assert any("trained attention" in text for s in paper_sections(folder) for text in s.missing)
    matrix = np.arange(16).reshape(4, 4).tolist()
    layer = {"matrix": matrix, "trained": [0.5, 0.25], "head": 1, "random": [-0.1, 0, 0.1]}
    layers = [{**layer, "layer": i, "rows": 4 - i, "random_heads": 40} for i in (1, 2)]
    facts = {"problem": "bb72", "noise": "circuit", "num_logicals": 1, "model_hash": "abcd"}
    record = {**facts, "shared_faults": matrix, "layers": layers}
    (tmp_path / "bb72-attention.json").write_text(json.dumps(record))
    figure = attention_figure(folder)
    j, first, second, below = figure.axes
    assert second.get_title() == "layer 2, head 1: r = 0.50"
    assert (np.asarray(second.images[0].get_array())[2:] == 0).all(), "rows that nothing reads"
    heads = [list(line.get_ydata()) for line in below.get_lines()]
    assert heads.count([0.5, 0.25]) == 2
    assert not any(line.startswith("paper-fig3") for line in unmeasured(folder))
    assert not any("trained attention" in t for s in paper_sections(folder) for t in s.missing)
    assert json.loads(stored_figures(folder)["paper-fig3"].numbers)["file"] == "bb72-attention.json"
