"""Measuring decoders: error rates on common shots, with intervals, and times.

Nothing is imported here: `cluster` needs Dask, and statistics need neither decoders nor files.
"""
