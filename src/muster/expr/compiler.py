"""Syntax to closures. What is common is shaped for speed; everything else is shaped to be read."""

import operator
from collections.abc import Callable, Mapping

from muster.expr import operators
from muster.expr.charges import charge_call, charge_result
from muster.expr.closures import (
    NUMBERS,
    Order,
    at_element,
    at_root,
    charge_operands,
    compare_with,
    current,
    elvis,
    list_of,
    relation,
    root,
    unknown_name,
    walk_steps,
)
from muster.expr.convert import boolean, java_text, kind_of
from muster.expr.errors import ExpressionError
from muster.expr.functions import CONTEXTUAL, PLAIN
from muster.expr.limits import CHARACTERS_PER_OPERATION, Frame
from muster.expr.steps import (
    Apply,
    Run,
    Spot,
    each_step,
    index_step,
    method_step,
    other_property,
    property_step,
)
from muster.expr.syntax import (
    Call,
    Chain,
    Compare,
    Current,
    Each,
    Elvis,
    Index,
    ListOf,
    Literal,
    Logic,
    MapOf,
    Method,
    Name,
    Path,
    Property,
    Step,
    Syntax,
    Ternary,
    Unary,
    Variable,
)
from muster.expr.weights import operations_in
from muster.model.json import Json

_ORDER: Mapping[str, Order] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Compiler:
    """Compiles one expression of `text`.

    `names` gathers the context's variables that it reads, `builds` whether it may make new lists and objects,
    `identifies` whether it calls `uuid()`.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._loops = 0  # how many selections or projections are around this point
        self._in_index = False  # an index is read from the root, whatever is around it
        self.names: set[str] = set()
        self.builds = False
        self.identifies = False

    def compile(self, node: Syntax) -> Run:
        match node:
            case Literal(value=constant):
                return lambda frame: constant
            case Name():
                return self._name(node)
            case Variable():
                return self._variable(node)
            case Current():
                self.builds = True
                return current
            case Path():
                return self._path(node)
            case Call():
                return self._call(node)
            case Compare():
                return self._compare(node)
            case Chain():
                return self._chain(node)
            case Logic():
                return self._logic(node)
            case Unary():
                return self._unary(node)
            case Ternary():
                return self._ternary(node)
            case Elvis(value=value, otherwise=otherwise):
                return elvis(self.compile(value), self.compile(otherwise))
            case ListOf(items=items):
                self.builds = True
                return list_of([self.compile(item) for item in items])
            case MapOf():
                return self._map(node)

    # --- names ---------------------------------------------------------------------------------

    def _name(self, node: Name) -> Run:
        if not self._loops or self._in_index:
            self.names.add(node.name)
        name, column, in_loop = node.name, node.start + 1, bool(self._loops)

        def read(frame: Frame) -> Json:
            try:
                return frame.this[name]  # type: ignore[index,call-overload]  # told apart below
            except (KeyError, TypeError):
                raise unknown_name(name, frame, in_loop, column) from None

        return read

    def _variable(self, node: Variable) -> Run:
        name = node.name
        if name in ("this", "root"):
            self.builds = True
            return current if name == "this" else root
        self.names.add(name)
        return lambda frame: frame.root.get(name)

    # --- paths ---------------------------------------------------------------------------------

    def _path(self, node: Path) -> Run:
        if fast := self._name_and_property(node):
            return fast
        origin, steps, before = self.compile(node.origin), [], node.origin.end
        for step in node.steps:
            steps.append(self._step(step, Spot(self._text, node.start, before, step.start, step.end)))
            before = step.end
        self._note_root_property(node)
        return walk_steps(origin, steps)

    def _note_root_property(self, node: Path) -> None:
        """`#root.x` reads the variable x as surely as `x` does."""
        match node.origin, node.steps[0]:
            case (Variable(name="root"), Property(name=name)):
                self.names.add(name)

    def _name_and_property(self, node: Path) -> Run | None:
        """`item.remainingDays`, the shape of most of what is read, in one closure."""
        match node:
            case Path(origin=Name() as origin, steps=(Property(safe=False) as step,)):
                read, variable, name = self._name(origin), origin.name, step.name
                spot = Spot(self._text, node.start, origin.end, step.start, step.end)

                def read_property(frame: Frame) -> Json:
                    this = frame.this
                    value = this[variable] if type(this) is dict and variable in this else read(frame)
                    return value.get(name) if type(value) is dict else other_property(value, name, spot)

                return read_property
        return None

    def _step(self, step: Step, spot: Spot) -> Apply:
        match step:
            case Property(name=name, safe=safe):
                return property_step(name, safe, spot)
            case Index():
                return self._index(step, spot)
            case Method(name=name, arguments=arguments, safe=safe):
                self.builds = True
                return method_step(name, self._arguments(arguments), safe, spot)
            case Each():
                return self._each(step, spot)

    def _index(self, step: Index, spot: Spot) -> Apply:
        bare_name = step.index.name if isinstance(step.index, Name) else None
        known, around = set(self.names), self._in_index
        self._in_index = True
        index = self.compile(step.index)
        self._in_index = around
        if bare_name is not None:
            self.names = known  # whether it is a key or a variable is only known when it runs
        return index_step(at_root(index) if self._loops else index, bare_name, step.safe, spot)

    def _each(self, step: Each, spot: Spot) -> Apply:
        self.builds = True
        around, self._in_index = self._in_index, False
        self._loops += 1
        body = self.compile(step.body)
        self._loops -= 1
        self._in_index = around
        return each_step(step.operator, body, 1 + operations_in(step.body), step.safe, spot)

    def _arguments(self, nodes: tuple[Syntax, ...]) -> tuple[Run, ...]:
        """Arguments see the element of the innermost loop, even within an index."""
        around, self._in_index = self._in_index, False
        runs = tuple(self.compile(node) for node in nodes)
        self._in_index = around
        return tuple(at_element(run) for run in runs) if self._loops and around else runs

    def _call(self, node: Call) -> Run:
        self.builds = True
        name, column, arguments = node.name, node.start + 1, self._arguments(node.arguments)
        if name in CONTEXTUAL:
            self.identifies |= name == "uuid"
            return _contextual(CONTEXTUAL[name], column, arguments)
        plain = PLAIN[name]

        def call(frame: Frame) -> Json:
            operands = [argument(frame) for argument in arguments]
            try:
                charge_call(frame, name, operands)
                return charge_result(frame, plain(*operands))
            except ExpressionError as error:
                raise error.placed(column) from None

        return call

    # --- operators -----------------------------------------------------------------------------

    def _chain(self, node: Chain) -> Run:
        first = self.compile(node.first)
        rest = [
            (operators.ARITHMETIC[symbol], column, self.compile(operand))
            for symbol, column, operand in node.rest
        ]

        def run(frame: Frame) -> Json:
            value = first(frame)
            for reckon, column, operand in rest:
                other = operand(frame)
                if (
                    reckon is operators.add
                    and type(value) is str
                    and type(other) is str
                    and len(value) + len(other) <= CHARACTERS_PER_OPERATION
                ):
                    value += other  # the usual way to make a text, and too short to be charged for
                    continue
                try:
                    if type(value) not in NUMBERS or type(other) not in NUMBERS:
                        charge_operands(frame, value, other)
                    value = reckon(value, other)
                except ExpressionError as error:
                    raise error.placed(column) from None
            return value

        return run

    def _compare(self, node: Compare) -> Run:
        left, right, column = self.compile(node.left), self.compile(node.right), node.start + 1
        if node.operator not in _ORDER:
            return relation(node.operator, left, right, column)
        decide = _ORDER[node.operator]
        if isinstance(node.right, Literal) and type(node.right.value) in (int, float):
            return compare_with(decide, left, node.right.value, column)

        def run(frame: Frame) -> Json:
            first, second = left(frame), right(frame)
            try:
                return decide(operators.compare(first, second), 0)
            except ExpressionError as error:
                raise error.placed(column) from None

        return run

    def _logic(self, node: Logic) -> Run:
        operands = [self._condition(operand) for operand in node.operands]
        settles = node.operator == "or"  # the first operand with this value decides

        def run(frame: Frame) -> Json:
            for operand in operands:
                if operand(frame) is settles:
                    return settles
            return not settles

        return run

    def _condition(self, node: Syntax) -> Callable[[Frame], bool]:
        run, column = self.compile(node), node.start + 1

        def decide(frame: Frame) -> bool:
            value = run(frame)
            if value is True or value is False:
                return value
            try:
                return boolean(value)
            except ExpressionError as error:
                raise error.placed(column) from None

        return decide

    def _unary(self, node: Unary) -> Run:
        if node.operator == "not":
            condition = self._condition(node.operand)
            return lambda frame: not condition(frame)
        run, column = self.compile(node.operand), node.start + 1
        sign = operators.negate if node.operator == "-" else operators.positive

        def signed(frame: Frame) -> Json:
            value = run(frame)
            try:
                return sign(value)
            except ExpressionError as error:
                raise error.placed(column) from None

        return signed

    def _ternary(self, node: Ternary) -> Run:
        condition = self._condition(node.condition)
        when_true, when_false = self.compile(node.when_true), self.compile(node.when_false)
        return lambda frame: when_true(frame) if condition(frame) else when_false(frame)

    def _map(self, node: MapOf) -> Run:
        self.builds = True
        entries = [(self._key(key), self.compile(value)) for key, value in node.entries]
        return lambda frame: {key(frame): value(frame) for key, value in entries}

    def _key(self, node: Syntax) -> Callable[[Frame], str]:
        if isinstance(node, Name):
            name = node.name
            return lambda frame: name
        run, column = self.compile(node), node.start + 1

        def key(frame: Frame) -> str:
            value = run(frame)
            if value is None or isinstance(value, list | Mapping):
                raise ExpressionError(f"{kind_of(value)} is not a key", "EXPRESSION_TYPE", column)
            return java_text(value)

        return key


def _contextual(call: Callable[..., Json], column: int, arguments: tuple[Run, ...]) -> Run:
    """A function that reads the state of the evaluation."""

    def run(frame: Frame) -> Json:
        operands = [argument(frame) for argument in arguments]
        try:
            return call(frame, column, *operands)
        except ExpressionError as error:
            raise error.placed(column) from None

    return run
