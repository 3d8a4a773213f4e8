"""Random expressions that mostly have a value, over a context that is random too.

Expressions are made by type from the phrases below, so that most of them evaluate; now and then a part of
another type is put in, so that errors are compared as well. What is documented to differ is not made:
`test_spel_differences.py` holds those cases.

In a phrase, «kind» stands for a part of that kind, «kind@place» for one that is read from an element of
a selection or projection, and «a|b|c» for one of several words.
"""

import random
import re
from dataclasses import dataclass
from typing import Any

WORDS = [
    "",
    "a",
    "b",
    "abc",
    "Hello",
    "it's",
    "x,y,,z",
    "  pad ",
    "ÄÖü",
    "12",
    "1.5",
    "true",
    "no",
    "hello world",
]
PATTERNS = [
    "a",
    "[a-c]+",
    r"\d+",
    "h.*",
    "(a|b)*",
    "",
    ",",
    "l+",
    "[^x]*",
    "x{1,2}",
    r"\w+",
    "(",
    "[a",
    "(H|h)el",
]

NAMES = {
    "number": ["count", "days", "zero", "negative"],
    "fraction": ["price", "ratio"],
    "text": ["name", "code", "empty"],
    "boolean": ["active", "closed"],
    "numbers": ["numbers", "none"],
    "texts": ["tags"],
    "objects": ["users", "orders"],
    "object": ["customer", "totals"],
    "record": ["customer"],
}
FIELDS = {"number": ["id", "age"], "text": ["label", "city"], "boolean": ["ok"], "fraction": ["score"]}

LITERALS = {
    "number": ["0", "1", "2", "7", "19", "0x1F", "-3", "007"],
    "fraction": ["1.5", "0.25", "2e2", "1.0", "3.75d", "12.5E-1"],
    "text": [],
    "boolean": ["true", "false", "TRUE", "False"],
    "numbers": ["{1, 2, 3}", "{}", "{5}"],
    "texts": ["{'a', 'b'}"],
    "object": ["{:}", "{a: 1, b: 'x'}"],
    "null": ["null", "NULL", "#nope", "#nothing", "#root.nothing"],
}

ORDER = "«<|<=|>|>=|==|!=|lt|LE|gt|ge|eq|Ne»"

PHRASES = {
    "number": [
        "«number» + «number»",
        "«number» - «number»",
        "«number» * «digit»",
        "«number» / «number»",
        "«number» % «number»",
        "«number» div «number»",
        "«number» mod «number»",
        "(«number» % 7) ^ «0|1|2|3»",  # of large numbers Spring's are cut, which is a documented difference
        "-«number»",
        "+«number»",
        "«number» - «number» + «number»",
        "«number» * 2 - «number» / 3 % 5",
        "«number».length()",
        "«text».size()",
        "«numbers».toUpperCase()",
        "«null».length()",
        "«text».![1]",
        "«number»[0]",
        "«text».nope",
        "«text».length()",
        "«list».size()",
        "«object».size()",
        "«text».indexOf(«text»)",
        "«text».lastIndexOf(«text»)",
        "«text».indexOf(«text», «number»)",
        "«numbers»[«0|1|2»]",
        "«numbers»[«number»]",
        "«numbers».get(«number»)",
        "«numbers».indexOf(«number»)",
        "«numbers».lastIndexOf(«number»)",
        "«record».«id|age»",
        "«record»?.«id|age»",
        "«boolean» ? «number» : «number»",
        "«null» ?: «number»",
        "«number».intValue()",
        "«record».score.intValue()",
        "«text».compareTo(«text»)",
        "«number».compareTo(«number»)",
        "«numbers».^[«boolean@number»]",
        "«numbers».$[«boolean@number»]",
        "«record».getOrDefault('«id|nope»', «number»)",
        "«objects».![id][0]",
    ],
    "fraction": [
        "«fraction» + «number»",
        "«number» - «fraction»",
        "«fraction» * «number»",
        "«fraction» / «4|0.5|3»",
        "«fraction» % «2|0.75»",
        "-«fraction»",
        "«boolean» ? «fraction» : «fraction»",
        "«number».doubleValue()",
        "«record».score",
        "«fraction» ^ «2|0.5»",
        "«objects».![score][0]",
    ],
    "text": [
        "«text» + «text»",
        "«text» + «scalar»",
        "«scalar» + «text»",
        "«text» + «number» + «number»",
        "«number» + «number» + «text»",
        "«text» + «null»",
        "«text» + «numbers»",
        "«texts» + «text»",
        "«text».toUpperCase()",
        "«text».toLowerCase()",
        "«text».trim()",
        "«text».strip()",
        "«text».substring(«0|1»)",
        "«text».substring(«number»)",
        "«text».substring(0, «1|2»)",
        "«text».substring(«number», «number»)",
        "«text».concat(«text»)",
        "«text».concat(«scalar»)",
        "«word».replace(«word», 'z')",
        "«text».repeat(«0|2|3»)",
        "«word» * «0|2|3»",
        "«text».replaceAll('«pattern»', '«-|[$0]||z»')",
        "«text».replaceFirst('«pattern»', '_')",
        "«text»[«0|1»]",
        "«text»[«number»]",
        "«texts»[«0|1»]",
        "«record».«label|city»",
        "«record»?.«label|city»",
        "«boolean» ? «text» : «text»",
        "«text» ?: «text»",
        "«null» ?: «text»",
        "«scalar».toString()",
        "«numbers».toString()",
        "«objects».toString()",
        "«record».toString()",
        "«record»[label]",
        "«record»[#key]",
        "«record»['city']",
        "«record».get('label')",
        "«text».split('«,|l|| »')[0]",
        "«objects».![label][0]",
        "«boolean» ? «text» : «boolean» ? «text» : «text»",
        "«texts».^[«boolean@text»]",
    ],
    "boolean": [
        "«boolean» and «boolean»",
        "«boolean» or «boolean»",
        "«boolean» && «boolean»",
        "«boolean» || «boolean»",
        "«boolean» or «boolean» and «boolean»",
        "!«boolean»",
        "not «boolean»",
        "NOT «boolean»",
        f"«number» {ORDER} «number»",
        f"«text» {ORDER} «text»",
        f"«fraction» {ORDER} «number»",
        f"«number» {ORDER} «fraction»",
        f"«scalar» {ORDER} «scalar»",
        "«any» «==|!=» «any»",
        "«list» == «list»",
        "«numbers» «==|!=» «numbers»",
        "«record» == «record»",
        "«number» between {«number», «number»}",
        "«text» between {«text», 'x'}",
        "«fraction» Between {«number», «fraction»}",
        "«text» matches '«pattern»'",
        r"«number» matches '\d+'",
        "«text».matches('«pattern»')",
        "«text».contains(«text»)",
        "«text».startsWith(«text»)",
        "«text».startsWith(«text», «number»)",
        "«text».endsWith(«text»)",
        "«text».isEmpty()",
        "«text».isBlank()",
        "«text».equals(«text»)",
        "«text».equalsIgnoreCase(«text»)",
        "«number».equals(«number»)",
        "«list».isEmpty()",
        "«object».isEmpty()",
        "«numbers».contains(«number»)",
        "«texts».contains(«text»)",
        "«numbers».containsAll({«number», «number»})",
        "«object».containsKey('«id|nope|jan»')",
        "«object».containsValue(«number»)",
        "«any» «==|!=» null",
        "null «<|<=|==|!=|>» «scalar»",
        "«scalar» «<|>=» null",
        "«boolean» ? «boolean» : «boolean»",
        "«record».ok",
        "«list».equals(«list»)",
        "«text» ? true : false",
        "«text» and «boolean»",
        "'«yes|off|1|TRUE| on »' or «boolean»",
    ],
    "null": [
        "«record».gone",
        "«record».gone?.x",
        "«record».gone?.length()",
        "«record»['nope']",
        "«record».gone?.![id]",
        "«record».gone?.[0]",
        "«record».gone.x",
        "«record».gone[0]",
        "«record».gone.length()",
        "«missing»",
        "«record».gone?.x.y",
        "«record».gone?.?[true]",
        "«objects».^[false]",
    ],
    "numbers": [
        "{«number», «number»}",
        "«numbers».?[«boolean@number»]",
        "«numbers».![«number@number»]",
        "«objects».![«number@record»]",
        "«numbers».subList(0, «0|1|2»)",
        "#totals.![value]",
        "«numbers»?.![#this + 1]",
        "«numbers».?[#this > «1|5»].![#this * 2]",
        "«objects».![«id|age»]",
    ],
    "texts": [
        "«texts».?[«boolean@text»]",
        "«texts».![«text@text»]",
        "«objects».![«text@record»]",
        "{«text»}",
        "#totals.![key]",
        "«texts».![toUpperCase()]",
        "«texts».?[length() > «0|2»]",
        "«objects».![«label|city»]",
    ],
    "objects": ["«objects».?[«boolean@record»]", "«objects».?[ok]", "{«record», «record»}"],
    "object": [
        "«record»",
        "{a: «any», 'b c': «scalar»}",
        "{id: «number», ok: «boolean»}",
        "#totals.^[value > 2]",
        "#totals.$[value > 2]",
        "{(«word»): «any»}",
    ],
    "record": [
        "«objects»[0]",
        "«objects».^[ok]",
        "«objects».$[«boolean@record»]",
        "«objects»?.[0]",
        "«objects»[«number»]",
    ],
}

SUMS = {
    "list": ["numbers", "texts", "objects"],
    "scalar": ["number", "fraction", "text", "boolean"],
    "any": ["number", "fraction", "text", "text", "boolean", "boolean", "numbers", "texts", "object", "null"],
}

_PART = re.compile("«([^«»]*)»")


@dataclass(frozen=True)
class Case:
    expr: str
    context: dict[str, Any]


class Generator:
    """Makes cases, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def case(self) -> Case:
        expr = self._make("any", "root", self._random.choice([1, 2, 2, 3, 3, 4]))
        return Case(expr, self._context())

    # --- expressions -----------------------------------------------------------------------------

    def _make(self, kind: str, place: str, depth: int) -> str:
        if kind in SUMS:
            return self._make(self._random.choice(SUMS[kind]), place, depth)
        if depth <= 0 or self._random.random() < 0.1:
            return self._leaf(kind, place)
        phrase = self._random.choice(PHRASES[kind])
        return _PART.sub(lambda found: self._part(found, place, depth - 1), phrase)

    def _part(self, found: re.Match[str], place: str, depth: int) -> str:
        wanted = found[1]
        if "|" in wanted:
            return self._random.choice(wanted.split("|"))
        kind, _, within = wanted.partition("@")
        if kind in ("digit", "pattern", "word", "missing"):
            return self._token(kind, place, depth)
        # A target keeps its type: Java's other types have methods of the same names, which are not ours.
        if self._random.random() < 0.04 and found.string[found.end() : found.end() + 1] not in (
            ".",
            "?",
            "[",
        ):
            kind = "any"
        made = self._make(kind, within or place, depth)
        return made if within or not self._needs_brackets(made) else f"({made})"

    def _needs_brackets(self, made: str) -> bool:
        if made[0] in "-+":
            return True  # two signs in a row would be `++` or `--`
        # Brackets are left out now and then: precedence is compared too, even where it makes nonsense.
        return (
            (" " in made or made[0] in "!{") and self._random.random() < 0.7
        ) or self._random.random() < 0.05

    def _token(self, kind: str, place: str, depth: int) -> str:
        if kind == "digit":
            return str(self._random.randint(0, 9))
        if kind == "pattern":
            return self._random.choice(PATTERNS)
        if kind == "word":
            return self._word()
        return f"{self._make('record', place, depth)}.{self._random.choice(['nope', 'missing'])}"

    def _word(self) -> str:
        word = self._random.choice(WORDS)
        return "'" + word.replace("'", "''") + "'" if self._random.random() < 0.7 else f'"{word}"'

    def _leaf(self, kind: str, place: str) -> str:
        """A literal, a variable, or something of the element that is read from here."""
        options = list(LITERALS.get(kind, [])) or [self._word()] * (kind == "text") * 3
        for name in NAMES.get(kind, []):
            options += [f"#{name}", f"#root.{name}", *([name, name] if place == "root" else [])]
        if place == "record":
            options += [option for field in FIELDS.get(kind, []) for option in (field, f"#this.{field}")] * 2
        if place == kind:
            options += ["#this"] * len(options)
        return self._random.choice(options)

    # --- data ------------------------------------------------------------------------------------

    def _context(self) -> dict[str, Any]:
        pick, chance = self._random.choice, self._random
        return {
            "count": chance.randint(0, 60),
            "days": chance.randint(-9, 30),
            "zero": 0,
            "negative": -chance.randint(1, 40),
            "price": chance.randint(0, 4000) / 8,
            "ratio": pick([0.5, 1.5, -2.25, 0.125, 3.0, 1e-4, 12345678.5]),
            "name": pick(WORDS),
            "code": pick(WORDS),
            "empty": "",
            "nothing": None,
            "active": pick([True, False]),
            "closed": pick([True, False]),
            "numbers": [chance.randint(-5, 20) for _ in range(chance.randint(0, 5))],
            "none": [],
            "tags": [pick(WORDS) for _ in range(chance.randint(0, 4))],
            "users": [self._record() for _ in range(chance.randint(0, 3))],
            "orders": [self._record() for _ in range(chance.randint(1, 3))],
            "customer": self._record(),
            "totals": {key: chance.randint(0, 9) for key in ("jan", "feb", "mar")[: chance.randint(1, 3)]},
            "key": "label",
        }

    def _record(self) -> dict[str, Any]:
        pick, chance = self._random.choice, self._random
        return {
            "id": chance.randint(0, 9),
            "age": chance.randint(0, 99),
            "label": pick(WORDS),
            "city": pick(["Graz", "Wien", "", "Linz"]),
            "ok": pick([True, False]),
            "score": chance.randint(0, 80) / 4,
            "gone": None,
        }
