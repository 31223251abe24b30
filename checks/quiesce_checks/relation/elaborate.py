"""Python's statements and functions into the typed statement form."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from quiesce_model.language.containers import Bag
from quiesce_model.language.fields import record_type
from quiesce_model.language.machine import Machine
from quiesce_model.language.types import (
    AgeType,
    BagType,
    LeftType,
    OptionalType,
    QueueType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)

from . import form
from .calls import NOTHING
from .expressions import MISSING
from .form import Expr, Kind, Place, Statement
from .inlined import Inlined, Translated
from .relation import Site
from .scope import (
    AliasOf,
    OptionalKey,
    Scalar,
    Scope,
    Unbound,
    kind_name,
    kind_of,
    merged,
    type_name,
)
from .source import Library

STATEMENTS_OUTSIDE: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: (
        "while-loops are outside the modelling language", "bound the loop by a constant: for _ in range(self.size): …"
    ),
    ast.Break: (
        "break is outside the modelling language", "put the rest of the body under an if, or return from a method"
    ),
    ast.Continue: ("continue is outside the modelling language", "put the rest of the body under an if"),
    ast.Try: ("try is outside the modelling language", "test first, with an if or a require"),
    ast.With: ("with is outside the modelling language", "write the statements without it"),
    ast.Raise: ("raise is outside the modelling language", 'say what must hold: self.require(condition, "RULE-1")'),
    ast.Assert: ("assert is outside the modelling language", "make it an @invariant, or a guard with self.require"),
    ast.Import: ("import inside a method is outside the modelling language", "import at the top of the file"),
    ast.ImportFrom: ("import inside a method is outside the modelling language", "import at the top of the file"),
    ast.FunctionDef: (
        "a function inside a method is outside the modelling language", "make it a method or a function of the file"
    ),
    ast.AsyncFunctionDef: ("async is outside the modelling language", "make what happens later an action of its own"),
    ast.ClassDef: ("a class inside a method is outside the modelling language", "declare it at the top of the file"),
    ast.Global: ("global is outside the modelling language", "keep all state in fields of the machine"),
    ast.Nonlocal: ("nonlocal is outside the modelling language", "keep all state in fields of the machine"),
    ast.Delete: ("del is outside the modelling language", "assign None to an optional field, or .stop() an age"),
}  # fmt: skip


SETTLE = cast(Callable[..., Any], Bag.settle)  # pyright: ignore[reportUnknownMemberType]


class Elaborator(Inlined):
    """Translates the methods of one machine class at one scope.

    ``machine_type`` is the type of the machine's own fields; ``constants`` is anything that has the constants as
    attributes (for the bounds of records that are built); ``without`` are the rules that are switched off.
    ``rules`` collects every rule id that is met, with where it stands first.
    """

    def __init__(
        self, machine: type[Machine], machine_type: RecordType, constants: Any, without: frozenset[str]
    ) -> None:
        self.machine = machine
        self.machine_type = machine_type
        self.constants = constants
        self.without = without
        self.rules: dict[str, Site] = {}
        self.library = Library()
        self.aliased: dict[str, OptionalKey | None] = {}
        self.root_types: dict[str, Type] = {"self": machine_type, "before": machine_type}
        self.done: dict[Any, Translated] = {}
        self.running: list[Any] = []
        self.scopes = 0

    def method(self, name: str, arguments: Mapping[str, Kind], before: bool = False) -> Translated:
        """Translate a method of the machine. ``arguments`` are its scalar parameters; ``before`` says that the first
        parameter after self is the machine before the step."""
        function = inspect.unwrap(inspect.getattr_static(self.machine, name))
        source = self.library.source(function)
        given: dict[str, Kind | Place] = {}
        names = [arg.arg for arg in source.node.args.args]
        site = source.site()
        if not names:
            source.error(source.node, f"{name} has no self", "give it self as its first parameter")
        given[names[0]] = Place("self", (), self.machine_type, site)
        if before:
            if len(names) < 2:
                source.error(source.node, f"{name} judges steps and has no `before`", "write def …(self, before): …")
            given[names[1]] = Place("before", (), self.machine_type, site)
        for parameter in names[len(given) :]:
            if parameter not in arguments:
                listed = ", ".join(arguments) or "none"
                source.error(
                    source.node,
                    f"nothing says what the parameter {parameter!r} of {name} ranges over",
                    f"declare it: @action({parameter}=…)" if not before else f"the steps that it judges have: {listed}",
                )
            given[parameter] = arguments[parameter]
        for parameter in arguments:
            if parameter not in names and not before:
                source.error(source.node, f"{name} has no parameter {parameter!r}", "add it, or take it out of @action")
        return self.translate(function, given)

    def translate(self, function: Callable[..., Any], given: Mapping[str, Kind | Place]) -> Translated:
        """One function at given kinds of arguments; each is translated once."""
        key = (function, tuple((name, self.known_as(argument)) for name, argument in given.items()))
        found = self.done.get(key)
        if found is not None:
            return found
        source = self.library.source(function)
        if key in self.running:
            source.error(
                source.node,
                f"{function.__name__} calls itself",
                "bound the depth: write the levels out or loop over a range",
            )
        self.running.append(key)
        self.scopes += 1
        scope = Scope(source, self.scopes)
        parameters: list[str] = []
        with self.inside(scope):
            for name, argument in given.items():
                slot = scope.slot(name)
                parameters.append(slot)
                if isinstance(argument, Place):
                    if argument.root in ("self", "before") and not argument.steps:
                        scope.names[name] = AliasOf(argument)
                    else:
                        scope.names[name] = self.alias(slot, argument.type, self.optional_key(argument), source.node)
                else:
                    scope.names[name] = Scalar(form.Local(slot, argument, source.site()), argument)
            body, ends = self.block(source.node.body)
            kind = self.return_kind(scope, ends)
        self.running.pop()
        made = form.Function(function.__name__, tuple(parameters), body, source.site())
        found = Translated(made, kind, frozenset(scope.assigned), scope.writes, ends)
        self.done[key] = found
        return found

    def known_as(self, argument: Kind | Place) -> object:
        """What makes one translation serve another argument: its kind, or its type and whether it is the machine."""
        if isinstance(argument, Place):
            return argument.type, argument.root if not argument.steps and argument.root in ("self", "before") else ""
        return argument

    @contextmanager
    def inside(self, scope: Scope) -> Generator[None]:
        outer = getattr(self, "scope", None)
        self.scope = scope
        yield
        if outer is not None:
            self.scope = outer

    def return_kind(self, scope: Scope, ends: bool) -> Kind:
        kind: Kind | None = None
        for node, value in scope.returns:
            if value is None:
                continue
            if isinstance(value, Place):
                self.error(
                    node,
                    "a part of the state is returned from the middle of a function",
                    "return its index, or make the function a single return",
                )
            kind = value.kind if kind is None else self.common(node, kind, value.kind)
        if kind is None:
            return NOTHING
        if not ends or any(value is None for _, value in scope.returns):
            self.error(
                scope.source.node,
                f"{scope.source.node.name} returns a value on some ways only",
                "return on every way",
            )
        return kind

    # Blocks

    def block(self, nodes: list[ast.stmt]) -> tuple[tuple[Statement, ...], bool]:
        """The statements, and whether every way through them returns."""
        made: list[Statement] = []
        for node in nodes:
            statements, ends = self.statement(node)
            made.extend(statements)
            if ends:
                return tuple(made), True
        return tuple(made), False

    def statement(self, node: ast.stmt) -> tuple[list[Statement], bool]:
        outside = STATEMENTS_OUTSIDE.get(type(node))
        if outside is not None:
            self.error(node, *outside)
        match node:
            case ast.Assign():
                return self.assign(node), False
            case ast.AnnAssign():
                if node.value is None:
                    return [], False
                return self.assign_one(node.target, node.value), False
            case ast.AugAssign():
                return self.augmented(node), False
            case ast.If():
                return self.if_(node)
            case ast.Match():
                return self.match(node)
            case ast.For():
                return self.for_(node)
            case ast.Return():
                return self.return_(node), True
            case ast.Expr():
                return self.expression(node), False
            case ast.Pass():
                return [], False
            case _:
                self.error(node, f"{type(node).__name__} is outside the modelling language", "see docs/language.md")

    def if_(self, node: ast.If) -> tuple[list[Statement], bool]:
        test = self.condition(node.test)
        (then, then_ends), (other, other_ends) = self.branches([node.body, node.orelse])
        return [form.If(test, then, other, self.site(node))], then_ends and other_ends

    def branches(self, bodies: list[list[ast.stmt]]) -> list[tuple[tuple[Statement, ...], bool]]:
        """Translate alternatives from the same names; afterwards only names that mean the same on all are bound."""
        start = dict(self.scope.names)
        made: list[tuple[tuple[Statement, ...], bool]] = []
        after: dict[str, Any] | None = None
        for body in bodies:
            self.scope.names = dict(start)
            block, ends = self.block(body)
            made.append((block, ends))
            if not ends:
                after = self.scope.names if after is None else merged(after, self.scope.names)
        self.scope.names = start if after is None else after
        return made

    def match(self, node: ast.Match) -> tuple[list[Statement], bool]:
        """A match on the members of an enum (or numbers) is a chain of ifs."""
        subject = self.value(node.subject)
        slot = f"{self.scope.slot('match')}{node.lineno}"
        held = form.Local(slot, subject.kind, self.site(node))
        tests: list[Expr | None] = []
        for case in node.cases:
            if case.guard is not None:
                self.error(
                    case.pattern,
                    "a case with an if is outside the modelling language",
                    "put the if inside the case",
                )
            tests.append(self.pattern(case.pattern, held))
        made = self.branches([case.body for case in node.cases] + ([[]] if tests[-1] is not None else []))
        if tests[-1] is not None:
            tests.append(None)
        chain: tuple[Statement, ...] = made[-1][0]
        for test, (body, _) in list(zip(tests, made, strict=True))[-2::-1]:
            assert test is not None
            chain = (form.If(test, body, chain, self.site(node)),)
        exhaustive = len(tests) == len(node.cases)
        return [form.SetLocal(slot, subject, self.site(node)), *chain], exhaustive and all(ends for _, ends in made)

    def pattern(self, pattern: ast.pattern, subject: Expr) -> Expr | None:
        """The condition under which a case is taken, None for ``_``."""
        match pattern:
            case ast.MatchAs(pattern=None, name=None):
                return None
            case ast.MatchValue():
                value = self.value(pattern.value)
                if value.kind != subject.kind:
                    self.error(
                        pattern,
                        f"the case is {kind_name(value.kind)}, the subject {kind_name(subject.kind)}",
                        "match a member of the subject's enum",
                    )
                return form.Compare("==", subject, value, bool, self.site(pattern))
            case ast.MatchSingleton() if isinstance(pattern.value, bool):
                return form.Compare("==", subject, self.literal(pattern.value, pattern), bool, self.site(pattern))
            case ast.MatchOr():
                parts = [self.pattern(part, subject) for part in pattern.patterns]
                if any(part is None for part in parts):
                    return None
                return form.Junction("or", tuple(cast(list[Expr], parts)), bool, self.site(pattern))
            case _:
                self.error(
                    pattern,
                    "this pattern is outside the modelling language",
                    "match members of an enum, or numbers",
                )

    def for_(self, node: ast.For) -> tuple[list[Statement], bool]:
        if node.orelse:
            self.error(
                node.orelse[0],
                "else after a loop is outside the modelling language",
                "write it after the loop",
            )
        before = dict(self.scope.names)
        first, over = self.fixed(node.iter)
        loop, held = self.loop(node.target, over)
        body, _ = self.block(node.body)
        if held is not None:
            body = (form.If(held, body, (), self.site(node)),)
        bound = self.scope.names
        self.scope.names = {}
        for name, binding in bound.items():
            if (name in before and (before[name] == binding or isinstance(binding, Unbound))) or (
                name in before and isinstance(before[name], Scalar) and isinstance(binding, Scalar)
            ):
                self.scope.names[name] = binding
            else:
                self.scope.names[name] = Unbound(
                    f"{name} is bound inside the loop only", f"bind {name} before the loop"
                )
        return [*first, form.For(loop, body, self.site(node))], False

    def fixed(self, over: ast.expr) -> tuple[list[Statement], ast.expr]:
        """What a loop runs over, worked out once: a container is asked again at every turn what is in it."""
        bare = over.args[0] if isinstance(over, ast.Call) and len(over.args) == 1 else over
        if not isinstance(bare, ast.Attribute | ast.Subscript) or self.static(bare) is not MISSING:
            return [], over
        place = self.operand(bare)
        if not isinstance(place, Place) or not isinstance(place.type, RowType | SubsetType) or not place.steps:
            return [], over
        name = ast.copy_location(ast.Name(f"what line {bare.lineno} loops over", ast.Load()), bare)
        slot = f"{self.scope.slot(name.id)}@{bare.col_offset}"
        self.scope.names[name.id] = self.alias(slot, place.type, self.optional_key(place), bare)
        alias = form.Alias(slot, place, self.site(bare))
        if bare is over:
            return [alias], name
        assert isinstance(over, ast.Call)
        return [alias], ast.copy_location(ast.Call(over.func, [name], over.keywords), over)

    def return_(self, node: ast.Return) -> list[Statement]:
        value: Expr | Place | None = None
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            found = self.operand(node.value)
            value = found
            if isinstance(found, Place) and (kind_of(found.type) is not None):
                value = self.read(found, node.value)
        self.scope.returns.append((node, value))
        return [form.Return(value, self.site(node))]

    # Expressions as statements

    def expression(self, node: ast.Expr) -> list[Statement]:
        call = node.value
        if isinstance(call, ast.Constant):
            return []  # a docstring, or …
        if not isinstance(call, ast.Call):
            remedy = "return it, assign it, or take it out"
            self.error(node, f"{self.text(call)} has no effect", remedy)
        if isinstance(call.func, ast.Attribute) and self.static(call.func.value) is MISSING:
            owner = self.operand(call.func.value)
            if isinstance(owner, Place):
                if isinstance(owner.type, OptionalType):
                    owner = self.payload(owner)
                special = self.special(call, call.func, owner)
                if special is not None:
                    return special
        if isinstance(call.func, ast.Name):
            own = self.intrinsic(call, self.static(call.func))
            if isinstance(own, form.Clear):
                return [self.composite(own, own.place)]
            if isinstance(own, form.Swap):
                return [self.composite(own, own.left)]
        made = self.any_call(call)
        if isinstance(made, form.Call):
            return [form.Do(made, self.site(node))]
        if isinstance(made, Place):
            self.error(node, f"{self.text(call)} has no effect", "assign it, or take it out")
        self.error(node, f"{self.text(call)} has no effect", "assign it, or take it out")

    def special(self, call: ast.Call, func: ast.Attribute, owner: Place) -> list[Statement] | None:
        """Methods that the language itself has."""
        site = self.site(call)
        match owner.type:
            case AgeType() if func.attr in ("start", "stop") and not call.args:
                leaf = self.literal(0 if func.attr == "start" else -1, call)
                return [self.written(form.Assign(owner, leaf, False, site))]
            case LeftType() if func.attr == "set" and len(call.args) == 1:
                return [self.written(form.Assign(owner, self.number(call.args[0]), True, site))]
            case LeftType() if func.attr == "clear" and not call.args:
                return [self.written(form.Assign(owner, self.literal(0, call), False, site))]
            case RecordType() if issubclass(owner.type.record, Machine) and func.attr == "require":
                return [self.require(call)]
            case RecordType() if issubclass(owner.type.record, Machine) and func.attr == "elapse":
                self.error(
                    call,
                    "time passes by itself, not in an action",
                    "take it out: elapse is an action of every timed machine",
                )
            case QueueType() if func.attr == "push":
                return self.put_behind(call, func.value)
            case BagType() if func.attr == "add":
                settle = self.call_function(call, SETTLE, [owner], {})
                return [*self.put_behind(call, func.value), form.Do(cast(form.Call, settle), site)]
            case RecordType():
                return None
            case AgeType() | LeftType():
                self.error(
                    call,
                    f"{self.text(func)}() is no method of {type_name(owner.type)}",
                    "ages have start() and stop(), rests set(n) and clear()",
                )
            case _:
                return None

    def require(self, call: ast.Call) -> Statement:
        if not 1 <= len(call.args) <= 2:
            self.error(call, "require takes a condition and a rule's id", 'write self.require(condition, "RULE-1")')
        rule = ""
        if len(call.args) == 2 or call.keywords:
            rule = self.rule_id(call, 1)
        return form.Require(self.condition(call.args[0]), rule, rule in self.without, self.site(call))


def machine_type(machine: type[Machine], constants: Any) -> RecordType:
    return record_type(machine, constants)
