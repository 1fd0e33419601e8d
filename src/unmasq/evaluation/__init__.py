"""Measuring decoders: error rates on common shots, with intervals, and times.

`cluster` is not imported here: it needs Dask.
"""

from unmasq.evaluation.collect import collect
from unmasq.evaluation.contenders import Contender, baseline, loaded_network, network
from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.failures import Comparison, compare, read_flags
from unmasq.evaluation.latency import Timing, time_decoder
from unmasq.evaluation.limits import Limits
from unmasq.evaluation.statistics import PairedCounts, Rate, clopper_pearson
from unmasq.evaluation.stats_file import read_counts

__all__ = [
    "Comparison",
    "Contender",
    "Counts",
    "Limits",
    "PairedCounts",
    "Point",
    "Rate",
    "Timing",
    "baseline",
    "clopper_pearson",
    "collect",
    "compare",
    "loaded_network",
    "network",
    "read_counts",
    "read_flags",
    "time_decoder",
]
