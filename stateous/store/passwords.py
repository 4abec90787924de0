"""Passwords are never shown: not those in a URL, and not those that a library repeats in its own words."""

from __future__ import annotations

import re
from urllib.parse import unquote

# Without a scheme, too: who forgets the colon in `postgres//me:secret@host` typed a password all the same.
_IN_URL = re.compile(r"(?P<before>//[^:/?#\s@]*:)[^\s]*@")
_IN_TEXT = re.compile(
    r"(?P<before>\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&'\"]+)", re.IGNORECASE
)
_SECRET = re.compile(r"^[^/?#\s@]*//[^:/?#\s@]*:(?P<secret>.*)@", re.DOTALL)
_SPECIAL = re.compile(r"[:/@?#&%=\s]+")


def without_password(text: str) -> str:
    """The text with every password in a URL or a `password=` replaced by stars."""
    return _IN_TEXT.sub(r"\g<before>***", _IN_URL.sub(r"\g<before>***@", text))


def without_password_of(url: str, text: str) -> str:
    """As `without_password`, and also without the pieces of this URL's password.

    A password with an unquoted `/` or `@` falls apart when the URL is read, and its pieces turn up in
    messages as a port, a host or a bad percent code.
    """
    text = without_password(text)
    for piece in sorted(_pieces(url), key=len, reverse=True):
        text = text.replace(piece, "***")
    return text


def _pieces(url: str) -> set[str]:
    secrets = [match["secret"] for match in (_SECRET.match(url),) if match]
    secrets += re.findall(r"(?i)(?:ssl)?password=([^&\s]+)", url)
    pieces: set[str] = set()
    for secret in secrets:
        for form in (secret, unquote(secret)):
            pieces.update((form, *_SPECIAL.split(form)))
    # One character would star out half of the sentence, and gives nothing away.
    return {piece for piece in pieces if len(piece) > 1}
