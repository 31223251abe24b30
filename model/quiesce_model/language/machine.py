"""A machine: fields, the actions that change them, and what has to hold.

Machines run as they are under plain Python. ``EchoLoop(sessions=3).run(s=1)`` takes a step, or raises
:class:`~.outcome.Blocked` and leaves the state as it was. What engines and harnesses need of a machine are the
functions at the end of this file; a machine's own name space belongs to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast, dataclass_transform, overload

from .fields import Bound, record_type, size_at
from .outcome import Blocked, Fault, Misuse
from .types import Leaf, RecordType
from .values import Age, Cells, Each, Home, Left, Record, Slot

P = ParamSpec("P")
M = TypeVar("M", bound="Machine")
F = TypeVar("F", bound=Callable[..., Any])

Choices = str | Bound | type[Enum] | type[bool] | tuple[Any, ...]
"""What an action's parameter ranges over: a constant's name or a number n (0..n-1), an enum, bool, or values."""

MARK = "__quiesce__"


@dataclass(frozen=True)
class ActionInfo:
    """That a method is an action, and what its parameters range over."""

    domains: tuple[tuple[str, Choices], ...]


@dataclass(frozen=True)
class PropertyInfo:
    """That a method is a property.

    ``kind`` is ``invariant``, ``step``, ``reachable``, ``terminal``, ``assumption`` or ``initial``. ``rules`` are the
    rule ids that the property speaks of; ``on`` names the actions whose steps a step property judges (all, if empty).
    """

    kind: str
    rules: tuple[str, ...] = ()
    on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """An action with its arguments: what happened, or may happen."""

    action: str
    args: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={shown_value(value)}" for name, value in self.args)
        return f"{self.action}({shown})" if shown else self.action


def shown_value(value: Any) -> str:
    return value.name if isinstance(value, Enum) else str(value)


class Constant:
    """A number or flag that a scope fixes. Only the machine's maker sets it."""

    __slots__ = ("default", "name")

    def __init__(self, default: int | bool) -> None:
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, machine: Any, owner: type | None = None) -> Any:
        return self if machine is None else machine.constants_[self.name]

    def __set__(self, machine: Any, value: Any) -> None:
        raise Misuse(f"{self.name} is a constant: it is given when the machine is made")


def constant(default: int | bool) -> Any:
    """A constant of the machine: a size, a limit, a duration, or (a flag) a variant such as a named repair."""
    return Constant(default)


@dataclass_transform(kw_only_default=True)
class Machine(Record):
    """A state machine, written as a class.

    Constants are given by keyword. ``without`` names rules that are switched off: their guards do not guard and
    ``self.rule(id)`` is False, which is how ablation asks what a rule is good for. ``unchecked`` names assumptions
    that these constants may break, which is how a run shows what an assumption is good for.

    Raises :class:`~.outcome.Misuse` for an unknown constant or one that an assumption forbids.
    """

    __constants__: tuple[Constant, ...] = ()
    if TYPE_CHECKING:  # what a type checker lets a machine be made with, besides its constants
        without: Iterable[str] = ()
        unchecked: tuple[str, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        found: dict[str, Constant] = {}
        for base in reversed(cls.__mro__):
            for name, value in vars(base).items():
                if isinstance(value, Constant):
                    found[name] = value
        cls.__constants__ = tuple(found.values())

    def __init__(self, *, without: Iterable[str] = (), unchecked: tuple[str, ...] = (), **constants: Any) -> None:
        known = {constant.name: constant.default for constant in type(self).__constants__}
        for name, value in constants.items():
            if name not in known:
                listed = ", ".join(known) or "none"
                raise Misuse(f"{type(self).__name__} has no constant {name!r}; its constants are: {listed}")
            if isinstance(known[name], bool) != isinstance(value, bool):
                kind = "a flag (true or false)" if isinstance(known[name], bool) else "a whole number"
                raise Misuse(f"{type(self).__name__}.{name} is {kind}, not {value!r}")
        self.constants_: dict[str, Any] = known | constants
        self.without_: frozenset[str] = frozenset([without] if isinstance(without, str) else without)
        self.unchecked_: tuple[str, ...] = unchecked
        for name, info in marked(type(self), "assumption"):
            if name not in unchecked and not getattr(self, name)():
                values = ", ".join(f"{key}={value}" for key, value in self.constants_.items())
                raise Misuse(f"{type(self).__name__} assumes {name}, which these constants break: {values}")
            del info
        self.furnish_(record_type(type(self), self), Home(self), "", None)
        for name, _ in marked(type(self), "initial"):
            getattr(self, name)()

    def __reduce__(self) -> Any:
        """A machine is sent to another process as what it is made with, and its state."""
        made = (type(self), self.constants_, self.without_, self.unchecked_, self.home_.unbounded, state(self))
        return remade, made

    def furnish_(self, layout: RecordType, home: Home, where: str, guard: Slot | None) -> None:
        """Make the cells. A machine that is a part of another has the other's constants and rules."""
        if home.machine is not self:
            if home.machine is None:
                raise Misuse(f"a {type(self).__name__} is made as a part of a machine, or by itself")
            self.constants_ = home.machine.constants_
            self.without_ = home.machine.without_
            self.unchecked_ = home.machine.unchecked_
        super().furnish_(layout, home, where, guard)

    def require(self, condition: bool, rule: str | None = None) -> None:
        """The step is possible only if ``condition`` holds; ``rule`` is the id under which it can be switched off."""
        if not condition and (rule is None or rule not in self.without_):
            raise Blocked(rule)

    def rule(self, rule: str) -> bool:
        """Whether a rule is in force: the condition for an effect that ablation can switch off."""
        return rule not in self.without_

    def elapse(self, d: int = 1) -> None:
        """Let ``d`` units of time pass: every running age grows, every rest shrinks to no less than 0."""
        if d < 1:
            raise Misuse(f"time only passes forward: elapse({d})")
        for duration in durations(self):
            now = duration.items_[0]
            if isinstance(duration, Age):
                if duration.running:
                    duration.items_[0] = now + d
            else:
                duration.items_[0] = max(0, now - d)


def action(
    **domains: Choices,
) -> Callable[[Callable[Concatenate[M, P], None]], Callable[Concatenate[M, P], None]]:
    """Declare a method to be an action; each keyword says what that parameter ranges over."""

    def declare(method: Callable[Concatenate[M, P], None]) -> Callable[Concatenate[M, P], None]:
        @wraps(method)
        def transact(self: M, /, *args: P.args, **kwargs: P.kwargs) -> None:
            home = self.home_
            if home.journal is not None:  # an action that another one calls is part of it
                return method(self, *args, **kwargs)
            home.journal = []
            try:
                method(self, *args, **kwargs)
            except BaseException as error:
                home.undo()
                fault = fault_of(error)
                if fault is not None:
                    raise fault from error
                raise
            finally:
                home.journal = None

        setattr(transact, MARK, ActionInfo(tuple(domains.items())))
        return transact

    return declare


def fault_of(error: BaseException) -> Fault | None:
    """The fault that an error of plain Python is in the words of the language, if it is one."""
    if isinstance(error, ZeroDivisionError):
        return Fault("division", "division", "the divisor is 0")
    if isinstance(error, AttributeError) and error.obj is None:
        return Fault("absent", error.name or "value", "used while the value that holds it is absent")
    return None


def mark(info: PropertyInfo) -> Callable[[F], F]:
    def declare(method: F) -> F:
        setattr(method, MARK, info)
        return method

    return declare


def declared(kind: str, rules: tuple[Any, ...]) -> Any:
    """A decorator that takes rule ids, or is put on a method as it is."""
    if len(rules) == 1 and callable(rules[0]):
        return mark(PropertyInfo(kind))(rules[0])
    return mark(PropertyInfo(kind, rules))


@overload
def invariant(method: F, /) -> F: ...
@overload
def invariant(*rules: str) -> Callable[[F], F]: ...
def invariant(*rules: Any) -> Any:
    """``(self) -> bool``: holds in every state. ``rules`` are the ids of the rules that it speaks of."""
    return declared("invariant", rules)


def step_property(*rules: str, on: tuple[str, ...] | str = ()) -> Callable[[F], F]:
    """``(self, before[, the action's parameters]) -> bool``: holds of every step of the actions named in ``on``."""
    return mark(PropertyInfo("step", rules, (on,) if isinstance(on, str) else on))


@overload
def reachable(method: F, /) -> F: ...
@overload
def reachable(*rules: str) -> Callable[[F], F]: ...
def reachable(*rules: Any) -> Any:
    """``(self) -> bool``: holds in some state that can be reached; a check that never finds one fails."""
    return declared("reachable", rules)


def terminal(method: F) -> F:
    """``(self) -> bool``: states in which it is right that nothing can happen any more."""
    return mark(PropertyInfo("terminal"))(method)


def assumption(method: F) -> F:
    """``(self) -> bool`` over constants alone: what every scope satisfies, and what a proof may assume."""
    return mark(PropertyInfo("assumption"))(method)


def initial(method: F) -> F:
    """Sets fields to other than their declared starts, when a machine is made."""
    return mark(PropertyInfo("initial"))(method)


# What engines and harnesses ask of a machine.


def marked(machine: type[Machine], kind: str) -> Iterator[tuple[str, PropertyInfo]]:
    """The methods declared with one kind of mark, those of base classes first."""
    for name, info in all_marked(machine):
        if isinstance(info, PropertyInfo) and info.kind == kind:
            yield name, info


def all_marked(machine: type[Machine]) -> Iterator[tuple[str, ActionInfo | PropertyInfo]]:
    """Every action and property, in the order of declaration, those of base classes first."""
    names: dict[str, None] = {}
    for base in reversed(machine.__mro__):
        for name, value in vars(base).items():
            if hasattr(value, MARK):
                names[name] = None
    for name in names:
        info = getattr(getattr(machine, name), MARK, None)
        if info is not None:
            yield name, info


def choices(domain: Choices, constants: Any) -> tuple[Any, ...]:
    """The values that a parameter ranges over, in order."""
    if isinstance(domain, tuple):
        return tuple(cast("tuple[Any, ...]", domain))
    if domain is bool:
        return (False, True)
    if isinstance(domain, type) and issubclass(domain, Enum):
        return tuple(domain)
    return tuple(range(size_at(domain, constants)))  # type: ignore[arg-type]


def steps(machine: Machine) -> list[Step]:
    """Every action with every choice of arguments, whether or not it is possible now; ``elapse`` is not among them."""
    found: list[Step] = []
    for name, info in all_marked(type(machine)):
        if isinstance(info, ActionInfo):
            keys = [key for key, _ in info.domains]
            for values in product(*(choices(domain, machine) for _, domain in info.domains)):
                found.append(Step(name, tuple(zip(keys, values, strict=True))))
    return found


def apply(machine: Machine, step: Step) -> None:
    """Take a step. Raises Blocked (state unchanged) or Fault."""
    getattr(machine, step.action)(**dict(step.args))


def judge(machine: Machine, name: str, before: Machine | None = None, step: Step | None = None) -> bool:
    """Whether a property holds: of the machine's state, or of the step that led to it from ``before``.

    Raises Fault where the property itself goes wrong.
    """
    method = getattr(machine, name)
    try:
        if before is None or step is None:
            return bool(method())
        wanted = method.__code__.co_varnames[2 : method.__code__.co_argcount]
        return bool(method(before, **{key: value for key, value in step.args if key in wanted}))
    except (ZeroDivisionError, AttributeError) as error:
        fault = fault_of(error)
        if fault is None:
            raise
        raise fault from error


def layout(machine: Machine) -> RecordType:
    return machine.layout_


def leaves(machine: Machine) -> tuple[Leaf, ...]:
    """What the numbers of :func:`state` stand for."""
    return tuple(machine.layout_.leaves("", False))


def state(machine: Machine) -> tuple[int, ...]:
    """The whole state, ghosts included, as one number for each leaf."""
    out: list[int] = []
    machine.layout_.encode(machine, out)
    return tuple(out)


def load(machine: Machine, leaves: Iterable[int]) -> None:
    """Put the machine into a state that :func:`state` returned."""
    machine.layout_.decode_into(machine, iter(leaves))


def plain(machine: Machine) -> dict[str, Any]:
    """The state as JSON-like data: enums by name, a stopped age and an absent value as None."""
    return machine.layout_.plain(machine)


def copy(machine: M) -> M:
    """A machine of the same class, constants and state."""
    other = type(machine)(without=machine.without_, unchecked=machine.unchecked_, **machine.constants_)
    other.home_.unbounded = machine.home_.unbounded
    load(other, state(machine))
    return other


def unbounded(machine: M) -> M:
    """The machine as a proof reads it: its counters have no upper bound."""
    machine.home_.unbounded = True
    return machine


def remade(
    kind: type[M], constants: dict[str, Any], without: frozenset[str], unchecked: tuple[str, ...], open: bool, at: Any
) -> M:
    """The machine that another process sent."""
    made = kind(without=without, unchecked=unchecked, **constants)
    made.home_.unbounded = open
    load(made, at)
    return made


def durations(machine: Machine) -> list[Age | Left]:
    """Every age and rest of the machine."""
    try:
        return vars(machine)["durations_"]
    except KeyError:
        found: list[Age | Left] = []
        collect_durations(machine, found)
        vars(machine)["durations_"] = found
        return found


def collect_durations(cells: Cells, found: list[Age | Left]) -> None:
    if isinstance(cells, Age | Left):
        found.append(cells)
        return
    inside = cells.items_[:1] if isinstance(cells, Slot) else cells.items_
    for item in inside:
        if isinstance(item, Cells):
            collect_durations(item, found)


def is_timed(machine: Machine) -> bool:
    """Whether the machine has any age or rest, and so the built-in action ``elapse``."""
    return bool(durations(machine))


__all__ = [
    "ActionInfo",
    "Each",
    "Machine",
    "PropertyInfo",
    "Step",
    "action",
    "assumption",
    "constant",
    "initial",
    "invariant",
    "reachable",
    "step_property",
    "terminal",
]
