"""Tables and figures from counts and timings.

Nothing is imported here: `figures` needs matplotlib, which `tables` does without.
"""
