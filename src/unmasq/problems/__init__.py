"""Decoding problems: which faults flip which detectors and logicals, and how often."""
