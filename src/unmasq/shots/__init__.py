"""Shots of a problem: drawn for training, numbered for evaluation, read from files, batched."""
