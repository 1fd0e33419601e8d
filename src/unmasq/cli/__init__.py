"""The command `unmasq`. One file a command; heavy packages load inside the commands.

Mistakes of the user end in one line on stderr and exit code 2; only bugs show a traceback. Set
UNMASQ_TRACEBACK=1 to see one always.
"""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from unmasq.cli import (
    bench,
    codes,
    demo,
    evaluate,
    figures,
    models,
    predict,
    problem,
    report,
    train,
)
from unmasq.cli.many_values import ManySettings, ManyValues
from unmasq.cli.signals import terminable

app = typer.Typer(
    name="unmasq",
    help="Diffusion decoders for quantum LDPC codes.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo.demo)
app.command()(codes.codes)
app.command()(models.models)
app.command()(problem.problem)
app.command(cls=ManySettings)(train.train)
app.command(cls=ManyValues)(evaluate.evaluate)
app.command()(predict.predict)
app.command(cls=ManyValues)(bench.bench)
app.command(cls=ManyValues)(figures.figures)
app.command()(report.report)

USER_ERROR = 2


def _print_version(wanted: bool) -> bool:
    if wanted:
        import unmasq

        print(f"unmasq {unmasq.__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options of `unmasq` itself."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with terminable() as ending, warnings.catch_warnings():
            warnings.filterwarnings("once", category=UserWarning, module="unmasq")
            warnings.showwarning = functools.partial(_say_warning, warnings.showwarning)
            code = app(words or ["--help"], prog_name="unmasq", standalone_mode=False)
    except KeyboardInterrupt:
        sys.exit(ending.code or 130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        message = _one_line(error)
        if message is None or os.environ.get("UNMASQ_TRACEBACK"):
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(USER_ERROR)
    sys.exit(ending.code or (code if isinstance(code, int) else 0))


def _say_warning(
    usual: Callable[..., None], message: Warning | str, category: type, *place: object
) -> None:
    """Ours in one line, without the place in our code."""
    if category.__module__.startswith("unmasq"):
        print(f"note: {message}", file=sys.stderr)
    else:
        usual(message, category, *place)


def _one_line(error: Exception) -> str | None:
    """What the user did wrong and the way out; None if the error is a bug of ours."""
    # Typer's errors derive from a class of Click that Typer may or may not carry inside itself.
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        said = format_message().rstrip(".")
        message = f"{said}{'' if said.endswith('?') else '.'} See `unmasq --help`."
    elif isinstance(error, ModuleNotFoundError):
        message = f"{error.name} must be installed for this: it was not found."
    elif isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):  # or an accelerator
        detail = f": {str(error).splitlines()[0]}" if str(error) else ""
        message = (
            f"memory must hold the problem and the network: got too little{detail}. Use fewer "
            "rounds, a smaller code or batch, or a machine with more."
        )
    elif isinstance(error, ValueError | OSError | ImportError | FloatingPointError):
        message = str(error)
    else:
        return None
    return " ".join(message.split())
