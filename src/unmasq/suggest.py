"""The second half of an error message about an unknown name."""

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """' Did you mean X?' with the name X closest to `name`, or '' if none comes close.

    It goes straight behind the sentence that says what is wrong. Case does not count.

    >>> nearest("bb27", ["bb72", "bb144"])
    ' Did you mean bb72?'
    >>> nearest("steane", ["bb72", "bb144"])
    ''
    """
    spelled = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f" Did you mean {spelled[close[0]]}?" if close else ""
