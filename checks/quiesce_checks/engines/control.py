"""The array of 64-bit words through which the kernel and its caller speak."""

from __future__ import annotations

from enum import IntEnum, auto

from .assembly import Assembly


class Slot(IntEnum):
    """What stands where in the control array. Names ending in ``_at`` are addresses."""

    STATES_AT = 0
    PARENTS_AT = auto()
    TABLE_AT = auto()
    WORDS_AT = auto()  # the batch: successors' words,
    SOURCES_AT = auto()  # their parents,
    HASHES_AT = auto()  # their hashes,
    PLACES_AT = auto()  # and where in the table to look
    SCRATCH_AT = auto()  # successors before they are put into order
    MOVES_AT = auto()  # the numbers of the moves that are not impossible in themselves
    TAKEN_AT = auto()  # for each move, how often
    FIRST_LEVEL_AT = auto()  # for each move, the level it was first taken from (0: never)
    FOUND_AT = auto()  # for each watch, the first state, or -1
    ACTIVE_AT = auto()  # bit sets of the watches not yet found
    SHIFT = auto()  # 64 minus the table's size in bits
    INDEX_MASK = auto()  # the table's size minus 1
    COUNT = auto()  # states so far
    NEXT = auto()  # the next state to expand
    LEVEL_END = auto()  # where the level that is being expanded ends
    LEVEL = auto()
    LAST_LEVEL = auto()  # the level that is not expanded any more
    ROOM = auto()  # return when so many states are there
    BUDGET = auto()  # batches to do in this call
    GENERATED = auto()
    EDGE_ROOM = auto()  # return when so many transitions were generated
    EVENTS = auto()  # watches found so far
    OFFSETS_AT = auto()  # the graph: for each state, where its edges begin (64 bits),
    TARGETS_AT = auto()  # the edges' targets (32 bits),
    LABELS_AT = auto()  # and moves (16 bits)
    RUN = auto()  # a walk: its number in the block,
    RUNS = auto()  # how many the block has,
    DEPTH = auto()  # steps that a walk takes at most,
    STEP = auto()  # steps that it has taken,
    STEPS = auto()  # and those of all walks of the block;
    WEIGHTS_AT = auto()  # for each walk and possible move, how likely it is (32 bits),
    SEEDS_AT = auto()  # for each walk, what its choices are drawn from,
    LENGTHS_AT = auto()  # for each walk, how many steps it took,
    PATH_AT = auto()  # and the moves of the one that is under way (32 bits)
    OWNER = auto()  # several owners: which of them this is,
    OWNERS = auto()  # how many there are,
    TURN = auto()  # and by how many they are moved on so that the initial state is the first one's;
    BOXES_AT = auto()  # addresses of the boxes for each of them: of states,
    BOX_SOURCES_AT = auto()  # and of their parents' indexes (32 bits),
    BOX_COUNTS_AT = auto()  # and how many are in each;
    SENT_AT = auto()  # states that were put into boxes lately,
    SENT_SHIFT = auto()  # 64 minus their number in bits,
    SENT_SIZE = auto()  # and their number;
    ORIGINS_AT = auto()  # for each state, the owner of its parent (16 bits)
    ORIGIN = auto()  # the owner of the parents of what is received
    OUT_WORDS_AT = auto()  # on disk: the box of states,
    OUT_SOURCES_AT = auto()  # and of their parents (32 bits);
    OUT_COUNT = auto()  # how many are in boxes,
    OUT_ROOM = auto()  # and may be;
    IN_WORDS_AT = auto()  # the states from another owner,
    IN_SOURCES_AT = auto()  # their parents,
    IN_COUNT = auto()  # how many there are,
    IN_NEXT = auto()  # and have been looked up
    FIRST_PRINTS_AT = auto()  # on disk: the two halves of the fingerprints of the states in the box
    SECOND_PRINTS_AT = auto()


class Answer(IntEnum):
    """Why the kernel returned."""

    EXHAUSTED = 0
    BUDGET = 1
    ROOM = 2
    EVENT = 3
    DEPTH = 4
    LEVEL = 5
    FULL = 6


def read(out: Assembly, slot: Slot, type_: str = "i64") -> str:
    if type_ == "i32":
        return out.op(f"trunc i64 {read(out, slot)} to i32")
    return out.load("%control", str(int(slot)), type_)


def write(out: Assembly, slot: Slot, value: str) -> None:
    out.store(value, "%control", str(int(slot)))
