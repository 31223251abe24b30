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


def compiled(module: str) -> Compiled:
    """Compile a kernel for this machine's processor.

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
    number = ctypes.c_int64
    search = ctypes.CFUNCTYPE(number, ctypes.c_void_p)(engine.get_function_address("search"))
    two = ctypes.CFUNCTYPE(None, ctypes.c_void_p, number, number)
    insert = two(engine.get_function_address("insert"))
    judge = two(engine.get_function_address("judge"))
    return Compiled(search, insert, judge, perf_counter() - start, engine)
