"""The paper's figure 3: trained attention beside J, which counts the faults that places share.

The matrices and correlations are those that `benchmarks/attention.py` left in the results.
"""

import json
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unmasq.report.figures import with_grid
from unmasq.report.names import code_label
from unmasq.report.results_folder import ResultsFolder

ATTENTION = "*-attention.json"  # of any code; the first is drawn
_COLOURS = "PiYG"  # green above 0, pink below


def attention_figure(folder: ResultsFolder, title: str | None = None) -> Figure:
    """J and the best head of each layer above; below, how each head correlates with J."""
    record = folder.record(folder.files(ATTENTION)[0])
    layers = record["layers"]
    own = f"{code_label(record['problem'])}, {record['noise']} noise (the paper's figure 3)"
    figure = Figure(figsize=(2.6 * (len(layers) + 1), 6.4), layout="constrained")
    figure.suptitle(own if title is None else title, fontsize="medium")
    grid = figure.add_gridspec(2, len(layers) + 1, height_ratios=(1, 1.1))
    pictures = [figure.add_subplot(grid[0, column]) for column in range(len(layers) + 1)]
    _picture(pictures[0], np.array(record["shared_faults"]), "J: faults that both places feel")
    for axes, layer in zip(pictures[1:], layers, strict=True):
        matrix = np.array(layer["matrix"])
        shown = np.where(np.arange(len(matrix))[:, None] < layer["rows"], matrix, 0)
        value = layer["trained"][layer["head"] - 1]
        _picture(axes, shown, f"layer {layer['layer']}, head {layer['head']}: r = {value:.2f}")
    pictures[0].set_ylabel(f"{record['num_logicals']} logicals, then checks", fontsize="small")
    _correlations(with_grid(figure.add_subplot(grid[1, :])), layers)
    return figure


def attention_numbers(folder: ResultsFolder) -> str:
    """What the figure says, as JSON: of each layer the correlations, trained and at random."""
    file = folder.files(ATTENTION)[0]
    record = folder.record(file)
    rows = [[x["layer"], x["trained"], x["random"]] for x in record["layers"]]
    return json.dumps({"file": file, "model_hash": record["model_hash"], "layers": rows})


def _picture(axes: Axes, matrix: np.ndarray, title: str) -> None:
    """Each on its own scale, as in the paper; J's diagonal would drown what is beside it."""
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    limit = np.abs(off).max()
    axes.imshow(matrix, cmap=_COLOURS, vmin=-limit, vmax=limit, interpolation="nearest")
    axes.set_title(title, fontsize="small")
    axes.set_xticks([])
    axes.set_yticks([])


def _correlations(axes: Axes, layers: list[dict[str, Any]]) -> None:
    numbers = [layer["layer"] for layer in layers]
    for layer in layers:
        low, _, high = layer["random"]
        place = layer["layer"]
        axes.fill_between([place - 0.3, place + 0.3], low, high, color="0.8", zorder=1)
        heads = place + np.linspace(-0.2, 0.2, len(layer["trained"]))
        axes.plot(heads, layer["trained"], "o", color="#1646a0", markersize=5, zorder=3)
    heads_at_random = min(layer["random_heads"] for layer in layers)
    axes.plot([], [], "o", color="#1646a0", label="trained, each head")
    axes.fill_between(
        [], [], [], color="0.8", label=f"random weights: all of {heads_at_random} heads"
    )
    axes.set_xticks(numbers, [f"layer {number}" for number in numbers])
    axes.set_ylabel("correlation of |A| with J, off the diagonal", fontsize="small")
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.legend(fontsize="small")
