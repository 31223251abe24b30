"""An application by name: ``module:function``, as it is given on a command line."""

from __future__ import annotations

import importlib
import os
import sys
from typing import cast

from quiesce.serving.seat import App, Unservable


def load_app(name: str) -> App:
    """The function that registers an application's derivations in a session.

    Modules are found as Python finds them, and in the present directory. Raises ``Unservable``.
    """
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name:
        raise Unservable(f"{name!r} names no application: write module:function")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module_name)
    except Exception as error:
        message = f"the module {module_name} cannot be imported: {type(error).__name__}: {error}"
        raise Unservable(message) from error
    for part in function_name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise Unservable(f"the module {module_name} has no function {function_name}: name one that takes a session")
    return cast("App", found)
