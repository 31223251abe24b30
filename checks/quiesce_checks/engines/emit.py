"""Terms as LLVM instructions: straight-line code over one packed state, or over several at once, one to a lane."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from ..relation.terms import Term
from .assembly import Assembly
from .packing import Field, Layout

WORD_BITS = (1 << 64) - 1


class Emitter:
    """Emits each term once into ``out``. ``words`` are the operands that hold the packed state.

    With ``lanes`` of 1 an operand is an i64 or an i1, else a vector of so many.
    """

    def __init__(self, out: Assembly, layout: Layout, words: Sequence[str], lanes: int) -> None:
        self.out = out
        self.layout = layout
        self.words = tuple(words)
        self.int = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.bool = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lanes = lanes
        self.field_of = {field.term.number: field for field in layout.fields}
        self.done: dict[int, str] = {}
        self.groups: dict[tuple[tuple[int, int], ...], str] = {}

    @contextmanager
    def apart(self) -> Generator[None]:
        """What is emitted inside is not known outside: it stands where control may not come by."""
        done, groups = self.done, self.groups
        self.done, self.groups = dict(done), dict(groups)
        yield
        self.done, self.groups = done, groups

    def number(self, value: int) -> str:
        """A constant; taken modulo 2**64, as the machine's word does."""
        value &= WORD_BITS
        value = value - (1 << 64) if value >> 63 else value
        if self.lanes == 1:
            return str(value)
        return "zeroinitializer" if value == 0 else f"splat (i64 {value})"

    def truth(self, value: bool) -> str:
        text = "true" if value else "false"
        return text if self.lanes == 1 else f"splat (i1 {text})"

    def type_of(self, term: Term) -> str:
        return self.bool if term.sort == "bool" else self.int

    def value(self, root: Term) -> str:
        """The operand that holds the term's value."""
        stack = [root]
        while stack:
            term = stack[-1]
            if term.number in self.done:
                stack.pop()
                continue
            missing = [arg for arg in term.args if arg.number not in self.done]
            if missing:
                stack.extend(missing)
                continue
            self.done[term.number] = self.instruction(term)
            stack.pop()
        return self.done[root.number]

    def op(self, text: str) -> str:
        return self.out.op(text)

    def instruction(self, term: Term) -> str:
        a = [self.done[arg.number] for arg in term.args]
        match term.op:
            case "const":
                return self.truth(term.data) if term.sort == "bool" else self.number(term.data)
            case "var":
                return self.variable(term)
            case "not":
                return self.op(f"xor {self.bool} {a[0]}, {self.truth(True)}")
            case "and" | "or":
                found = a[0]
                for other in a[1:]:
                    found = self.op(f"{term.op} {self.bool} {found}, {other}")
                return found
            case "ite":
                type_ = self.type_of(term)
                return self.op(f"select {self.bool} {a[0]}, {type_} {a[1]}, {type_} {a[2]}")
            case "eq":
                return self.op(f"icmp eq {self.type_of(term.args[0])} {a[0]}, {a[1]}")
            case "le":
                return self.op(f"icmp sle {self.int} {a[0]}, {a[1]}")
            case "add" | "sub" | "mul":
                return self.op(f"{term.op} {self.int} {a[0]}, {a[1]}")
            case "div" | "mod":
                return self.quotient(term, a[0], a[1])
            case _:
                raise AssertionError(term.op)

    def variable(self, term: Term) -> str:
        field = self.field_of[term.number]
        word = self.words[field.word]
        if term.sort == "bool":
            bit = self.op(f"and {self.int} {word}, {self.number(field.mask)}")
            return self.op(f"icmp ne {self.int} {bit}, {self.number(0)}")
        found = word
        if field.shift:
            found = self.op(f"lshr {self.int} {found}, {self.number(field.shift)}")
        if field.shift + field.width < 64:
            found = self.op(f"and {self.int} {found}, {self.number((1 << field.width) - 1)}")
        if field.low:
            found = self.op(f"add {self.int} {found}, {self.number(field.low)}")
        return found

    def quotient(self, term: Term, a: str, b: str) -> str:
        """Python's ``//`` and ``%``: rounded down, the remainder with the divisor's sign; 0 where the divisor is 0."""
        dividend, divisor = term.args
        whole = term.op == "div"
        if divisor.op == "const" and divisor.data > 0 and divisor.data & (divisor.data - 1) == 0:
            if whole:
                return self.op(f"ashr {self.int} {a}, {self.number(divisor.data.bit_length() - 1)}")
            return self.op(f"and {self.int} {a}, {self.number(divisor.data - 1)}")
        safe, zero = b, ""
        never_zero = (divisor.low is not None and divisor.low > 0) or (divisor.high is not None and divisor.high < 0)
        if not never_zero:
            zero = self.op(f"icmp eq {self.int} {b}, {self.number(0)}")
            safe = self.op(f"select {self.bool} {zero}, {self.int} {self.number(1)}, {self.int} {b}")
        if dividend.low is not None and dividend.low >= 0 and divisor.low is not None and divisor.low >= 0:
            found = self.op(f"{'udiv' if whole else 'urem'} {self.int} {a}, {safe}")
        else:
            rest = self.op(f"srem {self.int} {a}, {safe}")
            uneven = self.op(f"icmp ne {self.int} {rest}, {self.number(0)}")
            signs = self.op(f"xor {self.int} {rest}, {safe}")
            differ = self.op(f"icmp slt {self.int} {signs}, {self.number(0)}")
            off = self.op(f"and {self.bool} {uneven}, {differ}")
            if whole:
                cut = self.op(f"sdiv {self.int} {a}, {safe}")
                down = self.op(f"sub {self.int} {cut}, {self.number(1)}")
                found = self.op(f"select {self.bool} {off}, {self.int} {down}, {self.int} {cut}")
            else:
                up = self.op(f"add {self.int} {rest}, {safe}")
                found = self.op(f"select {self.bool} {off}, {self.int} {up}, {self.int} {rest}")
        if not never_zero:
            found = self.op(f"select {self.bool} {zero}, {self.int} {self.number(0)}, {self.int} {found}")
        return found

    def successor(self, updates: Mapping[int, Term]) -> list[str]:
        """The words of the state with ``updates``; a word that keeps all its fields is the old operand."""
        out: list[str] = []
        for word in range(self.layout.words):
            fields = [f for f in self.layout.fields if f.width and f.word == word]
            new = [(f, updates.get(f.variable, f.term)) for f in fields]
            changed = any(value is not f.term for f, value in new)
            out.append(self.packed(self.words[word], new) if changed else self.words[word])
        return out

    def packed(self, old: str, values: Sequence[tuple[Field, Term]]) -> str:
        """The bits of these fields of one word with these values, all other bits 0; each group is emitted once."""
        key = tuple((field.variable, value.number) for field, value in values)
        if key not in self.groups:
            self.groups[key] = self.pack(old, values)
        return self.groups[key]

    def pack(self, old: str, values: Sequence[tuple[Field, Term]]) -> str:
        """See :meth:`packed`.

        What keeps its value keeps its bits where they are, a constant step of a field's own value is added in
        place, and fields that change under one condition are chosen between together: this is where records in
        one word pay.
        """
        keep = fixed = step = 0
        together: dict[int, list[tuple[Field, Term]]] = {}
        parts: list[str] = []
        for field, value in values:
            if value is field.term:
                keep |= field.mask
            elif value.op == "const":
                fixed |= (int(value.data) - field.low) << field.shift
            elif value.op == "add" and value.args[0] is field.term and value.args[1].op == "const":
                keep |= field.mask
                step += value.args[1].data << field.shift
            elif value.op == "ite":
                together.setdefault(value.args[0].number, []).append((field, value))
            else:
                parts.append(self.moved(field, value))
        for members in together.values():
            condition = self.value(members[0][1].args[0])
            yes = self.packed(old, [(field, value.args[1]) for field, value in members])
            no = self.packed(old, [(field, value.args[2]) for field, value in members])
            parts.append(self.op(f"select {self.bool} {condition}, {self.int} {yes}, {self.int} {no}"))
        if keep:
            kept = old if keep == WORD_BITS else self.op(f"and {self.int} {old}, {self.number(keep)}")
            parts.append(self.op(f"add {self.int} {kept}, {self.number(step)}") if step else kept)
        if fixed or not parts:
            parts.append(self.number(fixed))
        found = parts[0]
        for other in parts[1:]:
            found = self.op(f"or {self.int} {found}, {other}")
        return found

    def moved(self, field: Field, value: Term) -> str:
        """A computed value at its field's place."""
        found = self.value(value)
        if value.sort == "bool":
            found = self.op(f"zext {self.bool} {found} to {self.int}")
        if field.low:
            found = self.op(f"sub {self.int} {found}, {self.number(field.low)}")
        return self.op(f"shl {self.int} {found}, {self.number(field.shift)}") if field.shift else found
