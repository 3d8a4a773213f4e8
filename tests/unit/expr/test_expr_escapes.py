# ruff: noqa: RUF001  # letters that look like others are what is tried here
"""Attempts to get out of the data: every one is refused before anything runs."""

from datetime import UTC, datetime
from typing import Any

import pytest

from muster.expr import ExpressionError, Scope, compile_expression, compile_template
from muster.expr.errors import ExpressionSyntaxError

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
CONTEXT: dict[str, Any] = {"a": {"b": 1}, "s": "text", "l": [1, 2], "n": None}

CLASSES = [
    "java.lang.Runtime",
    "java.lang.System",
    "java.lang.ProcessBuilder",
    "java.lang.Class",
    "java.lang.Thread",
    "java.io.File",
    "java.nio.file.Files",
    "java.net.URL",
    "javax.script.ScriptEngineManager",
    "java.util.Scanner",
    "org.springframework.util.StreamUtils",
    "Runtime",
    "String",
    "java.lang.String[]",
    "os",
    "builtins",
    "subprocess",
]

DUNDERS = [
    "__class__",
    "__dict__",
    "__init__",
    "__globals__",
    "__builtins__",
    "__import__",
    "__mro__",
    "__bases__",
    "__base__",
    "__subclasses__",
    "__getattribute__",
    "__reduce__",
    "__code__",
    "__module__",
    "__doc__",
    "__name__",
    "__self__",
    "__call__",
    "__closure__",
    "__getitem__",
    "__len__",
    "__hash__",
    "__wrapped__",
    "__annotations__",
    "__",
    "__x",
]

JAVA_METHODS = [
    "getClass",
    "forName",
    "getRuntime",
    "exec",
    "newInstance",
    "getMethod",
    "getMethods",
    "getDeclaredMethod",
    "invoke",
    "getDeclaredConstructors",
    "getClassLoader",
    "loadClass",
    "getProtectionDomain",
    "wait",
    "notify",
    "notifyAll",
    "hashCode",
    "clone",
    "finalize",
    "getBytes",
    "intern",
    "chars",
    "stream",
    "forEach",
    "iterator",
    "put",
    "remove",
    "clear",
    "add",
    "set",
    "putAll",
    "addAll",
    "sort",
    "toArray",
    "format",
    "valueOf",
    "join",
    "copyValueOf",
    "describeConstable",
    "transform",
]

PYTHON_METHODS = [
    "format_map",
    "encode",
    "decode",
    "maketrans",
    "translate",
    "mro",
    "append",
    "pop",
    "popitem",
    "extend",
    "insert",
    "update",
    "setdefault",
    "fromkeys",
    "items",
    "keys",
    "upper",
    "lower",
    "casefold",
    "zfill",
    "as_integer_ratio",
    "to_bytes",
    "hex",
    "bit_length",
    "conjugate",
    "real",
    "copy",
    "title",
    "rsplit",
    "splitlines",
    "partition",
    "expandtabs",
]

PYTHON_FUNCTIONS = [
    "eval",
    "exec",
    "compile",
    "open",
    "getattr",
    "setattr",
    "delattr",
    "hasattr",
    "vars",
    "dir",
    "globals",
    "locals",
    "type",
    "object",
    "super",
    "input",
    "print",
    "help",
    "breakpoint",
    "memoryview",
    "classmethod",
    "staticmethod",
    "property",
    "iter",
    "next",
    "map",
    "filter",
    "zip",
    "range",
    "repr",
    "id",
    "callable",
    "isinstance",
    "issubclass",
    "bytes",
    "bytearray",
    "list",
    "dict",
    "set",
    "frozenset",
    "tuple",
    "str",
    "int",
    "float",
    "bool",
    "chr",
    "ord",
    "exit",
    "quit",
    "sleep",
    "system",
    "popen",
]

CONSTRUCTS = [
    "new java.io.File('/etc/passwd')",
    "new String('x')",
    "new int[5]",
    "new  java.util.ArrayList()",
    "NEW String('x')",
    "New Object()",
    "new ProcessBuilder({'sh'}).start()",
    "1 + new Integer(1)",
    "{new String('x')}",
    "l.![new String('x')]",
    "@bean",
    "@bean.method()",
    "@'my.bean'",
    "1 + @systemProperties",
    "@environment",
    "&factory",
    "&@bean",
    "s + &factoryBean",
    "@{a}",
    "a = 1",
    "a.b = 2",
    "l[0] = 3",
    "#x = 1",
    "#root = null",
    "#this = 1",
    "a == 1 ? b = 2 : 3",
    "(a = 1)",
    "{a = 1}",
    "l.![#this = 1]",
    "a += 1",
    "a -= 1",
    "a *= 2",
    "a++",
    "a--",
    "++a",
    "--a",
    "a.b++",
    "--a.b",
    "#x++",
    "l[0]++",
    "1--1",
    "a instanceof T(String)",
    "s instanceof String",
    "T (java.lang.Runtime)",
    "T\t(java.lang.Runtime)",
    "T\n(String)",
    "T(String).class",
    "a.T(String)",
    "#T(String)",
    "l.![T(String)]",
    "l.?[T(String) != null]",
    "{T(String)}",
    "a[T(String)]",
    "T(java.lang.Runtime).getRuntime().exec('id')",
    "T(Thread).sleep(10000)",
    "s.class.forName('java.lang.Runtime').x()",
    "''.class.forName('x').getMethods()[6].invoke()",
    "a.class.classLoader.loadClass('x')",
    "s.getClass().forName('x')",
    "#{a}",
    "#{#{a}}",
    "a #{b}",
    "1 + #{b}",
    "\\u0054(java.lang.Runtime)",
    "\\x54(String)",
    "a\\.b",
    "'x\\'.getClass()",
    "a; b",
    "a\nb",
    "a, b",
    "a // comment",
    "a /* x */",
    "a -> b",
    "x => x",
    "lambda: 1",
    "lambda x: x",
    "[x for x in l]",
    "a if b else c",
    "f'{a}'",
    "`id`",
    "$(id)",
    "a | b",
    "a & b",
    "a ~ b",
    "~a",
    "a << 1",
    "a >> 1",
    "a ** 2",
    "a // 2",
    "a is null",
    "a in l",
    "not in l",
    "yield a",
    "await a",
    "import os",
    "from os import x",
    "return a",
    "del a",
    "%(a)s",
    "{% a %}",
    "{{ ''.__class__ }}",
    "a.'b'",
    "a.(b)",
    "a.{b}",
    "a->b",
    "a::b",
    "a!b",
    "a$[",
    "?[",
    "!",
    "(",
    "..",
    "a.b.",
    "a?.",
    "a?",
    "a ? b",
    "a ? b :",
    "?:",
    "'",
    '"',
    "a[",
    "a[]",
    "a.?[]",
    "a.![",
    "{",
    "{a:",
    "{:",
    "{a:1,",
    "#",
    "##a",
    "#1",
    "1a",
    "1.2.3",
    "0xZZ",
    "1e",
    "1__0",
    "a.__b",
    "''.join(l)",
    "'{0.__class__}'.format(a)",
]

CONFUSABLE = [
    "Т(java.lang.Runtime)",  # Cyrillic capital Te
    "Τ(java.lang.Runtime)",  # Greek capital Tau
    "Ｔ(java.lang.Runtime)",  # full width
    "𝐓(java.lang.Runtime)",  # mathematical bold
    "T\u200b(java.lang.Runtime)",
    "T\u200d(String)",
    "T\ufeff(String)",
    "T\u00a0(String)",
    "T\u2060(String)",
    "T\u3000(String)",
    "ｎｅｗ String('x')",
    "nеw String('x')",  # Cyrillic e
    "n\u200bew String('x')",
    "n\u00adew String('x')",
    "＠bean",
    "﹫bean",
    "a ＝ 1",
    "a\u200b= 1",
    "a.＿＿class＿＿",
    "a._\u200b_class__",
    "a.\u200b__class__",
    "a․b",
    "a。b",
    "ｅｖａｌ('1')",
    "еval('1')",
    "s.gеtClass()",
    "s.ｇｅｔＣｌａｓｓ()",
    "＃{a}",
    "\u202ea.b",
    "a\u2028b",
    "a\u2029b",
    "a\x00b",
    "\x00",
    "a\x07",
    "\x1b[31m a",
    "‘a’",
    "“a”",
    "a ≤ b",
    "a ≠ b",
    "a × b",
    "a ∧ b",
    "1 ÷ 2",
    "²",
    "٣",
    "①",
    "a\ud800b",
    "😀",
    "a.😀",
    "a\u0301b c",
]

ATTEMPTS = [
    *(f"T({name}){tail}" for name in CLASSES for tail in ("", ".x", ".getRuntime()")),
    *(f"new {name}()" for name in CLASSES),
    *(
        f"{target}.{name}{tail}"
        for name in DUNDERS
        for target in ("a", "s", "''")
        for tail in ("", "()", "[0]")
    ),
    *(f"#{name}" for name in DUNDERS),
    *DUNDERS,
    *(f"{{{name}: 1}}" for name in DUNDERS[:5]),
    *(f"s.{name}()" for name in [*JAVA_METHODS, *PYTHON_METHODS]),
    *(f"l.{name}(1)" for name in [*JAVA_METHODS, *PYTHON_METHODS]),
    *(f"{name}('1')" for name in PYTHON_FUNCTIONS),
    *(f"#{name}('1')" for name in PYTHON_FUNCTIONS[:10]),
    *CONSTRUCTS,
    *CONFUSABLE,
]


def test_there_are_many_attempts() -> None:
    assert len(set(ATTEMPTS)) >= 600


def refused(text: str) -> ExpressionError | None:
    try:
        compile_expression(text)
    except ExpressionSyntaxError as error:
        return error
    return None


@pytest.mark.parametrize("text", sorted(set(ATTEMPTS)))
def test_an_attempt_is_refused_when_it_is_read(text: str) -> None:
    error = refused(text)
    assert error is not None, f"{text!r} was compiled"
    assert error.message
    assert error.column is not None
    assert 1 <= error.column <= len(text) + 1


@pytest.mark.parametrize("text", sorted(set(ATTEMPTS)))
def test_an_attempt_is_refused_in_a_template_too(text: str) -> None:
    with pytest.raises(ExpressionSyntaxError):
        compile_template("x #{" + text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T(java.lang.Runtime)", "`T(…)` is not available"),
        ("new String('x')", "`new` is not available"),
        ("@bean", "`@bean` is not available"),
        ("&bean", "`&bean` is not available"),
        ("a = 1", "assignment is not available"),
        ("a++", "`++` is not available"),
        ("--a", "`--` is not available"),
        ("a.__class__", "no name may begin with `__`"),
        ("a instanceof b", "`instanceof` is not available"),
        ("s.getClass()", "there is no method `getClass()`"),
        ("eval('1')", "there is no function `eval()`"),
        ("1 + #{b}", "cannot be nested"),
    ],
)
def test_what_is_forbidden_says_so(text: str, said: str) -> None:
    error = refused(text)
    assert error is not None
    assert said in error.message


@pytest.mark.parametrize(
    "name", ["class", "mro", "format", "keys", "items", "real", "denominator", "append", "f_globals"]
)
@pytest.mark.parametrize("target", ["s", "l", "a", "n", "1", "true", "#root", "''", "{:}"])
def test_a_property_is_a_key_and_never_an_attribute(target: str, name: str) -> None:
    try:
        value = compile_expression(f"{target}.{name}").evaluate(Scope(CONTEXT, NOW))
    except ExpressionError:
        value = None
    assert value is None


@pytest.mark.parametrize("key", [*DUNDERS, "class", "mro", "0", "b.c"])
def test_an_index_is_a_key_and_never_an_attribute(key: str) -> None:
    assert compile_expression(f"a['{key}']").evaluate(Scope(CONTEXT, NOW)) is None


def test_text_from_the_data_is_never_read_as_an_expression() -> None:
    context = {"evil": "#{T(java.lang.Runtime)} ${1 + 1} @{a}"}
    assert compile_template("say #{evil}").resolve(Scope(context, NOW)) == f"say {context['evil']}"
    assert compile_expression("evil + evil").evaluate(Scope(context, NOW)) == context["evil"] * 2
