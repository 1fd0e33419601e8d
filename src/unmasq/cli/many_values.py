"""Options that take several values in a row: `--p 0.003 0.006`, as in sinter.

Click's options take a fixed number of values and may be repeated. Here the words that follow an
option of the latter kind, up to the next option, all become its values.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """For `app.command(cls=ManyValues)`: every list-valued option takes several values."""

    @staticmethod
    def is_value(word: str) -> bool:
        """Whether a word may be a further value, and not an argument of the command."""
        return True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        lists = {
            name
            for parameter in self.params
            if getattr(parameter, "multiple", False)
            for name in parameter.opts
        }
        return super().parse_args(ctx, repeat_options(args, lists, self.is_value))


class ManySettings(ManyValues):
    """The same for a command with an argument and values of the form key=value."""

    @staticmethod
    def is_value(word: str) -> bool:
        return "=" in word


def repeat_options(
    words: Sequence[str],
    lists: Collection[str],
    is_value: Callable[[str], bool] = ManyValues.is_value,
) -> list[str]:
    """Puts the option before every one of its values.

    >>> repeat_options(["--p", "0.1", "0.2", "--seed", "3"], ["--p"])
    ['--p', '0.1', '--p', '0.2', '--seed', '3']
    """
    result: list[str] = []
    option, has_value = None, False
    for number, word in enumerate(words):
        if word == "--":
            return [*result, *words[number:]]
        if word.startswith("-") and not _is_number(word):
            name, equals, _ = word.partition("=")
            option, has_value = (name if name in lists else None), bool(equals)
        elif option is not None and has_value and is_value(word):
            result.append(option)
        else:
            has_value = True
        result.append(word)
    return result


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
