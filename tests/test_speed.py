"""Bounds on building and loading the largest problem of the paper, in processor time."""

import json
import subprocess
import sys

import pytest

# In a process of its own: no run-time type checks, and no other test's threads.
PROGRAM = """
import json, sys, time
from unmasq.problems.building import problem_from_code
from unmasq.codes import get_code
from unmasq.problems.problem_file import load_problem, save_problem

start = time.process_time()
problem = problem_from_code(get_code("bb144"), "circuit", 0.003, 12, "X")
built = time.process_time()
save_problem(problem, sys.argv[1])
saved = time.process_time()
load_problem(sys.argv[1])
loaded = time.process_time()
print(json.dumps({"build": built - start, "load": loaded - saved}))
"""


@pytest.mark.slow
def test_the_large_problem_is_built_in_ten_seconds_and_loaded_in_one(tmp_path):
    command = [sys.executable, "-c", PROGRAM, tmp_path / "problem"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = json.loads(ended.stdout)
    assert seconds["build"] < 10
    assert seconds["load"] < 1
