"""From the kernel's text to functions in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

llvm: Any = import_module("llvmlite.binding")  # it has no types


@dataclass(frozen=True)
class Compiled:
    """The kernel's functions. ``search`` takes the address of the control array and gives an ``Answer``."""

    search: Callable[[int], int]
    insert: Callable[[int, int, int], None]
    judge: Callable[[int, int, int], None]
    seconds: float
    owner: object


@dataclass(frozen=True)
class Loaded:
    """A module in memory; its functions live as long as it does. ``seconds`` is what compiling took."""

    engine: Any
    seconds: float

    def answering(self, name: str) -> Callable[[int], int]:
        """A function from the control array's address to a number. It runs without holding the interpreter."""
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.engine.get_function_address(name))

    def doing(self, name: str) -> Callable[[int, int, int], None]:
        """A procedure of the control array's address and two numbers."""
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        return kind(self.engine.get_function_address(name))


def loaded(module: str) -> Loaded:
    """Compile a module's text for this machine's processor.

    Three passes do what matters here: cells on the stack into registers, bits of fields combined, blocks merged. The
    usual pipelines take four times as long and give a search that is no faster.
    """
    start = perf_counter()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    parsed = llvm.parse_assembly(module)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(parsed, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return Loaded(engine, perf_counter() - start)


def compiled(module: str) -> Compiled:
    """Compile a search kernel."""
    found = loaded(module)
    return Compiled(found.answering("search"), found.doing("insert"), found.doing("judge"), found.seconds, found)
