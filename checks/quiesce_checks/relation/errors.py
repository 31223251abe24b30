"""What a model's author is told when the model cannot be read."""

from __future__ import annotations

import ast
import linecache

from .relation import Site


class ModelError(Exception):
    """A construct outside the modelling language, or used in a way that has no meaning.

    ``message`` says what is wrong, ``remedy`` what to write instead, ``site`` where; ``width`` is how many columns the
    construct takes on its line.
    """

    def __init__(self, message: str, remedy: str, site: Site, width: int = 1) -> None:
        self.message = message
        self.remedy = remedy
        self.site = site
        self.width = width
        super().__init__(f"{site}: {message}; {remedy}")

    def text(self) -> str:
        """The whole answer: place, what is wrong, the line with the construct marked, what to write."""
        head = f"{self.site}:{self.site.column + 1}  {self.message}"
        line = linecache.getline(self.site.file, self.site.line).rstrip("\n")
        shown = [head]
        if line.strip():
            number = f"{self.site.line:>6} │ "
            column = len(line[: self.site.column].expandtabs(4))
            width = max(1, min(self.width, len(line) - self.site.column))
            shown += [number + line.expandtabs(4), " " * 7 + "│ " + " " * column + "^" * width]
        shown.append(f"write   {self.remedy}")
        return "\n".join(shown)


def width_of(node: ast.AST) -> int:
    """Columns that a syntax node takes on its first line (only what lies on that line is marked)."""
    start = getattr(node, "col_offset", 0)
    end = getattr(node, "end_col_offset", start + 1)
    one_line = getattr(node, "end_lineno", 0) == getattr(node, "lineno", 0)
    return max(1, end - start) if one_line else 200
