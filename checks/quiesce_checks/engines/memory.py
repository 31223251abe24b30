"""Memory for a search: reserved at once, taken as it is used."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class Reserve:
    """An array in memory that is reserved now and taken from the system as it is written to, starting as zeros.

    ``bytes`` is what is reserved. It never moves, so growing costs nothing. What is filled from one end on is taken in
    large pages; memory that is used here and there is not ``dense``, and is taken in small ones.
    """

    def __init__(self, size: int, *, dense: bool = True) -> None:
        self.bytes = max(mmap.PAGESIZE, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self.map = mmap.mmap(-1, self.bytes, flags=flags)
        if dense and hasattr(mmap, "MADV_HUGEPAGE"):  # without it, half of the time goes into address translation
            self.map.madvise(mmap.MADV_HUGEPAGE)
        self.bytes_view: NDArray[np.uint8] = np.frombuffer(self.map, dtype=np.uint8)

    @property
    def address(self) -> int:
        return int(self.bytes_view.ctypes.data)

    def words(
        self, type_: type[np.uint64] | type[np.uint32] | type[np.uint16], count: int
    ) -> NDArray[np.unsignedinteger]:
        """The first ``count`` numbers of a type, in place."""
        return self.bytes_view[: count * np.dtype(type_).itemsize].view(type_)


def available() -> int:
    """Bytes of memory that this process may still take: what the system and its control group leave."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found = int(line.split()[1]) * 1024
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            found = min(found, int(limit) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # not Linux, or no control group: what there is at all
        pass
    return max(found, 0)
