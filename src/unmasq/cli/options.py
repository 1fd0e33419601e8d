"""Options that several commands have, in the same words."""

from typing import Annotated

import typer

Model = Annotated[
    str | None, typer.Option(help="Name of a known model, or a weight file or run folder.")
]
Threshold = Annotated[
    float | None, typer.Option(help="Unmask adaptively: all bits with |logit| above this.")
]
Dtype = Annotated[str | None, typer.Option(help="float32 or bfloat16.")]
Seed = Annotated[int, typer.Option(help="Other numbers give other shots.")]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print records, no table.")]
