"""One behaviour of a callee applied to one state of the caller."""

from leakline.static.engine import copying, memory
from leakline.static.engine.alternatives import common_conditions
from leakline.static.engine.arithmetic import binary, cast, indexed
from leakline.static.engine.constraints import compare, constrain, is_null, negation
from leakline.static.engine.context import Context
from leakline.static.engine.correlation import is_possible
from leakline.static.engine.exceptions import begin
from leakline.static.engine.findings import Event, record
from leakline.static.engine.heap import (
    allocate,
    follow,
    mark_pointed,
    overwrite,
    release,
)
from leakline.static.engine.places import place_of
from leakline.static.engine.releases import is_argument, note_partner
from leakline.static.engine.state import ESCAPED, FREED, State
from leakline.static.engine.summary import (
    Allocation,
    Conditions,
    Disjunct,
    Name,
    NamedValue,
    Place,
    Summary,
)
from leakline.static.engine.values import CODE, GLOBAL, Value, moved
from leakline.static.instructions import Call, Invoke

# Longer chains of calls are cut in the middle of a report anyway.
_MOST_PLACES = 12


class Application:
    """One disjunct applied to one state."""

    def __init__(
        self,
        ctx: Context,
        s: State,
        row: Call | Invoke,
        values: list[Value],
        disjunct: Disjunct,
        number: int,
    ) -> None:
        self._ctx = ctx
        self._s = s
        self._row = row
        self._values = values
        self._disjunct = disjunct
        self._number = number
        self._known: dict[Name, Value] = {}
        self._possible = True
        self._used: list[Value] = []

    def run(self, summary: Summary) -> bool:
        """Change the state; False when the behaviour is impossible here."""
        d = self._disjunct
        if not self._assume_one(d.alternatives):
            return False
        self._allocate()
        if d.result is not None:
            self._value(d.result)
        # Conditions and result are read whichever joined behaviour this is.
        certain = list(self._used)
        self._resolve_names()
        if not (self._possible and self._limit_unknown() and is_possible(self._s)):
            return False
        if not self._follow(certain):
            return False
        self._change_objects()
        if not self._write():
            return False
        for value in d.escapes:
            memory.escape(self._ctx, self._s, self._value(value))
        self._touch(d.touched)
        if d.changes_world:
            memory.change_globals(self._ctx, self._s)
        self._return(None if d.result is None else self._value(d.result))
        self._announce(summary)
        if d.throws is not None:
            known = d.throws[0] == "global"
            self._s.thrown = self._name(d.throws) if known else None
            begin(self._ctx, self._s)
        return True

    def _follow(self, certain: list[Value]) -> bool:
        """False when the callee goes through an argument that is null here."""
        for pointer in certain:
            follow(self._ctx, self._s, pointer)
        for index in sorted(self._disjunct.pointed):
            value = self._argument(index)
            if is_null(self._ctx, self._s, value) is True:
                return False
            if not isinstance(value, int):
                mark_pointed(self._ctx, self._s, value[0])
        return True

    def _resolve_names(self) -> None:
        """Names mean what they meant at entry, so all are looked up before changes."""
        d = self._disjunct
        for item in d.frees:
            self._value(item.value)
        for write in d.writes:
            if not _is_joined(write.value):
                self._name(write.base)
                self._value(write.value)
        for value, counter in d.counted:
            self._value(value)
            self._name(counter)
        possible = self._possible
        self._resolve_uncertain()
        if d.joined:
            # Some of the behaviours go through a null pointer here, others do not.
            self._possible = possible

    def _resolve_uncertain(self) -> None:
        """Look up what a joined behaviour does in some of its forms only."""
        d = self._disjunct
        for write in d.writes:
            if _is_joined(write.value):
                self._name(write.base)
                self._value(write.value)
        for value in d.escapes:
            self._value(value)
        for name in (*d.overwritten, *d.copied):
            self._name(name)

    def _change_objects(self) -> None:
        d = self._disjunct
        for name in sorted(d.copied, key=repr):
            memory.escape_contents(self._ctx, self._s, self._name(name))
        for name in d.overwritten:
            copying.scribble(self._ctx, self._s, self._name(name))
        for shared, counter in d.counted:
            if not isinstance(self._name(counter), int):
                memory.escape(self._ctx, self._s, self._value(shared))
        for item in d.frees:
            value = self._value(item.value)
            if is_argument(item.value):
                note_partner(self._ctx, value, item.places[-1].function)
            release(self._ctx, self._s, value, item.family, detail=item.places)
        if d.frees:
            for name in d.overwritten:
                self._replace_freed(self._name(name))

    def _replace_freed(self, place: Value) -> None:
        """Memory that changed in an unknown way no longer holds what was freed."""
        if isinstance(place, int):
            return
        s = self._s
        freed = [
            offset
            for offset, (value, _) in s.memory.get(place[0], {}).items()
            if not isinstance(value, int) and s.objects.get(value[0]) == FREED
        ]
        memory.remove_cells(s, place[0], freed)

    def _write(self) -> bool:
        """Write what the callee wrote; False when it wrote through a null pointer."""
        for write in self._disjunct.writes:
            base = self._name(write.base)
            if isinstance(base, int):
                joined = self._disjunct.joined or _is_joined(write.value)
                if not (joined or write.if_there):
                    return False
                continue
            place = moved(base, write.offset)
            if _is_joined(write.value):
                self._escape_old(place)
            value = self._value(write.value)
            overwrite(self._ctx, self._s, place, is_by_callee=True)
            memory.store(self._ctx, self._s, place, value, write.size_bytes)
        return True

    def _assume_one(self, alternatives: tuple[Conditions, ...]) -> bool:
        """Learn what holds whichever possible alternative does."""
        if len(alternatives) == 1:
            return self.assume_conditions(alternatives[0])
        possible = [found for found in alternatives if self._could_hold(found)]
        if not possible:
            return False
        return self.assume_conditions(common_conditions(possible))

    def _could_hold(self, conditions: Conditions) -> bool:
        trial = Application(
            self._ctx, self._s.copy(), self._row, self._values, self._disjunct, -1
        )
        return trial.assume_conditions(conditions)

    def assume_conditions(self, conditions: Conditions) -> bool:
        """Learn what must hold at entry; False when it cannot."""
        for name, allowed in conditions:
            value = self._name(name)
            if not self._possible:
                return False
            if not constrain(self._ctx, self._s, value, allowed):
                return False
            if self._ctx.replaying and not isinstance(value, int):
                self._s.path = (self._s.path, (value, allowed))
        return True

    def _announce(self, summary: Summary) -> None:
        if self._ctx.replaying:
            detail = (summary.display, self._disjunct, len(summary.disjuncts))
            record(self._ctx, self._s, Event("called", self._row.location, -1, detail))

    def _allocate(self) -> None:
        for number, made in enumerate(self._disjunct.allocations):
            here = place_of(self._ctx, self._row.location)
            allocation = Allocation(
                _longer(made.places, here),
                made.allocator,
                made.family,
                made.size_bytes,
                made.zeroed,
            )
            # Where within the callee it was made is no reason to keep states apart.
            site = (
                self._row.location,
                self._row.result,
                self._row.callee,
                made.family,
                number,
            )
            value = allocate(self._ctx, self._s, site, allocation)
            if number in self._disjunct.kept:
                self._s.writable_objects()[value[0]] = ESCAPED
            self._known["heap", number] = value

    def _escape_old(self, place: Value) -> None:
        """The place was perhaps not written: what it holds may still be there."""
        held = None if isinstance(place, int) else self._s.holders.get(place)
        if held is not None:
            memory.escape(self._ctx, self._s, (held, 0))

    def _touch(self, touched: frozenset[str]) -> None:
        for name in sorted(touched):
            base = self._ctx.terms.known(("global", name))
            if base is not None:
                memory.havoc(self._ctx, self._s, (base, 0))
        self._s.touched |= touched - self._ctx.own

    def _limit_unknown(self) -> bool:
        for number, allowed in self._disjunct.unknown:
            value = self._name(("new", number))
            if not constrain(self._ctx, self._s, value, allowed):
                return False
            if self._ctx.replaying and not isinstance(value, int):
                self._s.path = (self._s.path, (value, allowed))
        return True

    def _return(self, result: Value | None) -> None:
        if self._row.result < 0:
            return
        if result is None:
            result = self._unknown("result")
        self._s.env[self._row.result] = result

    def _value(self, value: NamedValue) -> Value:
        if isinstance(value, int):
            return value
        base, offset = self._name(value[0]), value[1]
        if isinstance(offset, int):
            return moved(base, offset)
        constant, index, scale = offset
        start = moved(base, constant)
        return indexed(self._ctx, self._s, start, self._value(index), scale)

    def _name(self, name: Name) -> Value:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._resolve(name)
        return known

    def _resolve(self, name: Name) -> Value:
        match name[0]:
            case "arg":
                return self._argument(name[1])
            case "cell":
                return self._cell(name)
            case "global":
                return self._global(name)
            case "code":
                return self._ctx.terms.base(CODE, name), 0
            case "eq" | "slt" | "ult" as predicate:
                left, right = self._value(name[1]), self._value(name[2])
                return compare(self._ctx, self._s, predicate, left, right)
            case "not":
                return negation(self._ctx, self._value(name[1]))
            case "bin":
                left, right = self._value(name[2]), self._value(name[3])
                return binary(self._ctx, self._s, name[1], left, right, name[4])
            case "cast":
                inner = self._value(name[2])
                return cast(self._ctx, self._s, name[1], inner, name[3], name[4])
            case _:
                return self._unknown(name)

    def _global(self, name: Name) -> Value:
        """A global; one that a callee changed before it is named here is unknown."""
        found = self._ctx.terms.base(GLOBAL, name), 0
        if name[1] in self._s.touched and found[0] not in self._s.versions:
            memory.havoc(self._ctx, self._s, found)
        return found

    def _argument(self, index: int) -> Value:
        if index < len(self._values):
            return self._values[index]
        return self._unknown(("arg", index))

    def _cell(self, name: Name) -> Value:
        base = self._name(name[1])
        if isinstance(base, int):
            # The callee reads through a null pointer: this call does not come back.
            self._possible = False
            return base
        pointer = moved(base, name[2])
        self._used.append(pointer)
        return memory.peek(self._ctx, self._s, pointer)

    def _unknown(self, what: object) -> Value:
        row = self._row
        return self._ctx.terms.symbol(
            "callee", row.location, row.result, self._number, what, self._s.epoch
        )


def _is_joined(value: NamedValue) -> bool:
    """Whether the write is one of several behaviours that were joined."""
    if isinstance(value, int) or value[0][0] != "new":
        return False
    return bool(value[0][1][:1] == ("write",))


def _longer(places: tuple[Place, ...], place: Place) -> tuple[Place, ...]:
    if len(places) < _MOST_PLACES:
        return (*places, place)
    return (*places[: _MOST_PLACES - 1], place)
