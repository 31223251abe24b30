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


def compiled(module: str, *, level: int = 2) -> Compiled:
    """Compile a kernel for this machine's processor."""
    start = perf_counter()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level, jit=True
    )
    parsed = llvm.parse_assembly(module)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(parsed, passes)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    number = ctypes.c_int64
    search = ctypes.CFUNCTYPE(number, ctypes.c_void_p)(engine.get_function_address("search"))
    two = ctypes.CFUNCTYPE(None, ctypes.c_void_p, number, number)
    insert = two(engine.get_function_address("insert"))
    judge = two(engine.get_function_address("judge"))
    return Compiled(search, insert, judge, perf_counter() - start, engine)
