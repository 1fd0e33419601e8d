"""sinter's own decoder suite, run on our adapter with a stub network."""

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_sinters_own_suite_passes(tmp_path):
    settings = tmp_path / "pytest.ini"  # ours would be found otherwise, and its options with it
    settings.write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(settings), "-p", "no:cacheprovider"]
    command += ["--pyargs", "sinter._decoding._decoding_test", "-k", "unmasq"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
            "SINTER_PYTEST_CUSTOM_DECODERS": "sinter_stub:decoders",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    passed = int(re.search(r"(\d+) passed", result.stdout)[1])
    assert passed >= 40  # that is, -k has found our decoder
    assert "failed" not in result.stdout
