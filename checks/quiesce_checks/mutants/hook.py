"""One module of a process imported from other text than its file holds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import CodeType, ModuleType

from .mutant import Mutant


class AlreadyImported(Exception):
    """The module to be mutated is there as it was written: whoever holds it would go on using that."""


class Served(Loader):
    """Makes a module from a text."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def code(self) -> CodeType:
        return compile(self.text, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code(), module.__dict__)


class Finder(MetaPathFinder):
    """Finds one module, by its full name."""

    def __init__(self, module: str, loader: Served) -> None:
        self.module = module
        self.loader = loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        return spec_from_loader(fullname, self.loader, origin=self.loader.path)


def serve(mutant: Mutant) -> None:
    """From now on this process imports the mutant in the place of its module.

    Raises AlreadyImported if the module has been imported, and Problem if the mutant does not apply.
    """
    if mutant.module in sys.modules:
        raise AlreadyImported(f"{mutant.module} is imported already: serve its mutant first, in a process of its own")
    sys.meta_path.insert(0, Finder(mutant.module, Served(mutant.source(), str(mutant.path))))
