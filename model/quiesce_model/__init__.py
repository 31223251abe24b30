"""The model: executable state machines of what must be true. Standard library only."""

from .language import *  # noqa: F403
from .language import __all__ as __all__
