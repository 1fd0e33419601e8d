"""Tries to break unmasq: malformed inputs, `kill -9`, several writers, full disks, no rights.

    python tools/harden.py inputs --count 100000 --seed 1
    python tools/harden.py kills --count 1000 --seed 1
    python tools/harden.py writers disks --count 20

Prints one line for each finding (exit code 1 if there is any) and the counts as JSON at the end.
What counts as a finding is said in `hardening/judging.py` (inputs) and `hardening/kills.py`. A case
is the same for the same seed: `--only 'shot file' --first 4711 --count 1` tries one again.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if TYPE_CHECKING:
    from hardening.judging import Tally
    from hardening.sandbox import Sandbox
    from hardening.zygote import Zygote

CAMPAIGNS = ("inputs", "kills", "writers", "disks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaigns", nargs="+", choices=CAMPAIGNS)
    parser.add_argument("--count", type=int, default=2000, help="cases, kills or rounds")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one kind of input, or one command to kill")
    parser.add_argument("--folder", type=Path, help="keep the files here")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
    with tempfile.TemporaryDirectory(prefix="harden-") as temporary:
        sys.exit(run(arguments, (arguments.folder or Path(temporary)).resolve()))


def run(arguments: argparse.Namespace, folder: Path) -> int:
    from hardening.judging import Tally
    from hardening.sandbox import Sandbox
    from hardening.zygote import Zygote

    zygote = Zygote(folder / "compiled")
    sandbox = Sandbox(folder)
    tally = Tally()
    begun = time.monotonic()
    try:
        _run_campaigns(arguments, sandbox, zygote, tally)
    except KeyboardInterrupt:
        print("interrupted: the counts so far", file=sys.stderr)
    record = {
        "campaigns": arguments.campaigns,
        "seed": arguments.seed,
        "seconds": round(time.monotonic() - begun),
        "counts": {" / ".join(key): count for key, count in sorted(tally.counts.items())},
        "findings": len(tally.findings),
    }
    print(json.dumps(record, indent=1))
    return 1 if tally.findings else 0


def _run_campaigns(
    arguments: argparse.Namespace, sandbox: "Sandbox", zygote: "Zygote", tally: "Tally"
) -> None:
    for campaign in arguments.campaigns:
        if campaign == "inputs":
            from hardening.campaign import run_inputs

            run_inputs(sandbox, arguments, tally)
        elif campaign == "kills":
            from hardening.kills import run_kills

            run_kills(sandbox, zygote, arguments.count, arguments.seed, tally, arguments.only)
        elif campaign == "writers":
            from hardening.writers import run_writers

            run_writers(sandbox, zygote, arguments.count, tally)
        else:
            from hardening.writers import run_disks

            run_disks(sandbox, zygote, arguments.count, tally)


if __name__ == "__main__":
    main()
