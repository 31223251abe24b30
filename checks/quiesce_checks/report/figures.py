"""Numbers as people read them."""

from __future__ import annotations


def count(number: int) -> str:
    """``4,331``."""
    return f"{number:,}"


def plural(number: int, word: str, words: str | None = None) -> str:
    """``1 step``, ``23 steps``."""
    return f"{number:,} {word if number == 1 else words or word + 's'}"


def seconds(value: float) -> str:
    """``0.02 s``, ``1.4 s``, ``38 s``, ``3 min 05 s``."""
    if value < 0.095:
        return f"{value:.2f} s"
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 119.5:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def size(number: int) -> str:
    """Bytes: ``18.7 MB``; powers of 1000."""
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if value >= 99.5 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def rate(number: int, elapsed: float) -> str:
    """``1.2 M/s``: so many in so many seconds."""
    if elapsed <= 0:
        return "–"
    value = number / elapsed
    if value >= 1e6:
        return f"{value / 1e6:.1f} M/s"
    if value >= 1e3:
        return f"{value / 1e3:.0f} k/s"
    return f"{value:.0f}/s"
