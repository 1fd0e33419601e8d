"""Malformed inputs, kills, writers and full disks; `tools/harden.py` runs them."""
