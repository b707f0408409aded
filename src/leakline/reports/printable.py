"""Makes text from programs safe to print.

Names of functions, files and modules come from whoever built the program; printed as
they are, they could move the cursor, change the window's title or reorder the line.
"""


def printable(text: str) -> str:
    """The text with every character that is not plainly visible written as an escape."""
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 (a byte that was not UTF-8)
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:  # noqa: PLR2004 (fits the short form)
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"
