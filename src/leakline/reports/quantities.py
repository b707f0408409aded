"""Numbers as people read them."""

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_WORTH_ROUNDING = 10 * 1024


def plural(number: int, noun: str) -> str:
    """A number with its noun: `1 block`, `2,000 blocks`, `3 processes`."""
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def bytes_in_words(number: int) -> str:
    """An exact number of bytes, with a rounded one beside it when it is large."""
    exact = plural(number, "byte")
    return f"{exact} ({rounded(number)})" if number >= _WORTH_ROUNDING else exact


def rounded(number: int) -> str:
    """Bytes in the unit that leaves a small number before the point."""
    if number < 1024:  # noqa: PLR2004 (one KiB)
        return f"{number} B"
    power = (number.bit_length() - 1) // 10
    return f"{number / 1024**power:.1f} {_UNITS[min(power, len(_UNITS)) - 1]}"


def share(part: int, whole: int) -> str:
    """A part of a whole in per cent; the whole is not 0."""
    return f"{100 * part / whole:.1f} %"
