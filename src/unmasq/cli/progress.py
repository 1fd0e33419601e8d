"""The live display of a training run; plain lines where there is no terminal."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmasq.cli.live_display import PLAIN_SECONDS, LiveDisplay

if TYPE_CHECKING:
    from unmasq.training import TrainConfig
    from unmasq.training.loop import Progress as TrainingProgress


class TrainingDisplay(LiveDisplay):
    """Loss, speed and the time that is left."""

    def __init__(self, config: "TrainConfig", *, quiet: bool = False):
        super().__init__(quiet=quiet)
        self._last_line = -PLAIN_SECONDS  # the first line comes at once
        self._task = self._bars.add_task(config.name, total=config.num_updates, facts="compiling")

    def report(self, progress: "TrainingProgress") -> None:
        parts = [
            f"loss {progress.loss:.4f}",
            f"{progress.samples_per_second:,.0f} samples/s",
            f"p {progress.p:.4f}",
            progress.stage,
            progress.failures,
            f"{_clock(progress.seconds_left)} left",
        ]
        facts = "  ".join(part for part in parts if part)
        self._bars.update(
            self._task, completed=progress.step, total=progress.num_updates, facts=facts
        )
        self.say_now_and_then(
            f"{progress.seconds:7.0f} s  update {progress.step}/{progress.num_updates}  {facts}"
        )

    def summary(self, record: dict[str, Any], folder: Path, *, as_json: bool) -> None:
        if as_json:
            print(json.dumps(record))
            return
        self.say(
            f"{'finished' if record['finished'] else 'stopped'} after {record['step']} updates, "
            f"{record['samples']:,} samples, {record['seconds']:.0f} s"
        )
        if not record["finished"]:
            self.say(f"all of it is saved: go on with `unmasq train --resume {folder}`")
        for row in record.get("evaluation", []):
            rate = row["failures"] / row["shots"]
            once = f"; T = 1: {row['failures_T1']}" if "failures_T1" in row else ""
            self.say(
                f"p = {row['p']}: {row['failures']} failures in {row['shots']} shots "
                f"({rate:.3g}){once}"
            )


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
