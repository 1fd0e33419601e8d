"""The campaign of malformed inputs: so many cases of each kind."""

import argparse
import sys

from hardening.commands import command_targets
from hardening.inputs import file_targets
from hardening.judging import Tally, run_cases
from hardening.sandbox import Sandbox


def run_inputs(sandbox: Sandbox, arguments: argparse.Namespace, tally: Tally) -> None:
    """`count` cases over all kinds by their shares, or of one kind alone."""
    targets = [*file_targets(sandbox), *command_targets(sandbox)]
    if arguments.only is not None:
        targets = [target for target in targets if target.name == arguments.only]
        if not targets:
            raise SystemExit("error: --only must be one of the kinds of inputs.")
    total = sum(target.share for target in targets)
    for target in targets:
        count = -(-arguments.count * target.share // total)
        run_cases(
            target, range(arguments.first, arguments.first + int(count)), arguments.seed, tally
        )
        print(f"{target.name}: {int(count)} cases", file=sys.stderr, flush=True)
        sandbox.clear()
        if sandbox.changed():
            tally.find(f"{target.name}: {sandbox.changed()} must stay as they were")
