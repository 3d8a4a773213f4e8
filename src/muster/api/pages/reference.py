"""The API reference: the OpenAPI document as a page. It says what the server does, and nothing else."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import orjson

from muster.api.pages.layout import code_spans, page
from muster.api.problems import MEANINGS

# The document is JSON of our own making; its parts are looked up, never handed on.
Part = Mapping[str, Any]

_METHODS = ("get", "post", "put", "delete")


def reference(document: Part) -> str:
    """The whole page."""
    info = document["info"]
    return page(
        "Muster: API reference",
        f"""<div class="layout"><nav aria-label="Operations">{"".join(_navigation(document))}</nav>
<main><h1>API reference</h1>
<p>{escape(info["summary"])} Version {escape(info["version"])};
as a document: <a href="/openapi.json">openapi.json</a>.</p>
<p>JSON in and out. Errors are problem details with a stable <a href="#problems">code</a>. Lists page by
<code>cursor</code> and <code>limit</code>. Times are ISO 8601 in UTC.</p>
{"".join(_sections(document))}{_problems()}{"".join(_schemas(document))}</main></div>""",
    )


def _operations(document: Part, tag: str) -> Iterator[tuple[str, str, Part]]:
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods and tag in methods[method].get("tags", ()):
                yield path, method, methods[method]


def _navigation(document: Part) -> Iterator[str]:
    yield '<a class="brand" href="/">Muster</a>'
    for tag in document["tags"]:
        links = "".join(
            f'<li><a href="#{_anchor(method, path)}"><span class="method {method}">{method.upper()}</span>'
            f"<span>{escape(operation['summary'])}</span></a></li>"
            for path, method, operation in _operations(document, tag["name"])
        )
        yield f"<h2>{escape(tag['name'])}</h2><ul>{links}</ul>"
    yield '<h2>More</h2><ul><li><a href="#problems">Problem codes</a></li>'
    yield '<li><a href="#schemas">Schemas</a></li></ul>'


def _sections(document: Part) -> Iterator[str]:
    for tag in document["tags"]:
        articles = "".join(
            _article(document, path, method, operation)
            for path, method, operation in _operations(document, tag["name"])
        )
        head = f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>"
        yield f"<section>{head}{articles}</section>"


def _article(document: Part, path: str, method: str, operation: Part) -> str:
    role = operation.get("x-role") or "open"
    notes = operation.get("description")
    return (
        f'<article id="{_anchor(method, path)}"><span class="role">{escape(role)}</span>'
        f'<h3><span class="method {method}">{method.upper()}</span>'
        f'<span class="path">{escape(path)}</span></h3>'
        f"<p>{escape(operation['summary'])}.{' ' + code_spans(notes) if notes else ''}</p>"
        f"{_parameters(operation)}{_body(operation)}{_answers(document, operation)}</article>"
    )


def _anchor(method: str, path: str) -> str:
    return escape(
        f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}", quote=True
    )


def _parameters(operation: Part) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f"<td>{_type(parameter['schema'])}{', required' if parameter.get('required') else ''}</td>"
        f"<td>{code_spans(parameter.get('description', ''))}</td></tr>"
        for parameter in operation.get("parameters", ())
    )
    return _table("Parameters", ("Name", "In", "Type", ""), rows)


def _table(title: str, columns: tuple[str, ...], rows: str) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    return f'<h4>{title}</h4><div class="wide"><table><tr>{head}</tr>{rows}</table></div>' if rows else ""


def _body(operation: Part) -> str:
    content: Part = operation.get("requestBody", {}).get("content", {})
    parts = "".join(
        f"<details{' open' if position == 0 else ''}>"
        f"<summary>{escape(media)}: {_type(part['schema'])}</summary>"
        f"{_example(part.get('example'))}</details>"
        for position, (media, part) in enumerate(content.items())
    )
    return f"<h4>Body</h4>{parts}" if parts else ""


def _example(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return f"<pre>{escape(text)}</pre>"


def _answers(document: Part, operation: Part) -> str:
    rows = "".join(
        f"<tr><td><code>{status}</code></td><td>{', '.join(_media(answer))}</td>"
        f"<td>{code_spans(answer['description'])}</td></tr>"
        for status, answer in sorted(operation["responses"].items())
    )
    return _table("Answers", ("Status", "Body", ""), rows)


def _media(answer: Part) -> Iterator[str]:
    for media, part in answer.get("content", {}).items():
        yield _type(part["schema"]) if "json" in media else f"<code>{escape(media)}</code>"


def _problems() -> str:
    rows = "".join(
        f'<tr id="{code}"><td><code>{code}</code></td><td>{status}</td><td>{code_spans(meaning)}</td></tr>'
        for code, (status, meaning) in MEANINGS.items()
    )
    table = _table("", ("Code", "Status", "Meaning"), rows)
    return f'<section id="problems"><h2>Problem codes</h2>{table}</section>'


def _schemas(document: Part) -> Iterator[str]:
    yield '<section id="schemas"><h2>Schemas</h2>'
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f'<article id="schema-{escape(name)}"><h3>{escape(name)}</h3>'
        yield f"<p>{code_spans(schema.get('description', ''))}</p>{_properties(schema)}</article>"
    yield "</section>"


def _properties(schema: Part) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td>"
        f"<td>{_type(part)}{', required' if name in required else ''}</td>"
        f"<td>{code_spans(part.get('description', ''))}</td></tr>"
        for name, part in schema.get("properties", {}).items()
    )
    values = "".join(
        f"<tr><td><code>{escape(str(value))}</code></td></tr>" for value in schema.get("enum", ())
    )
    return _table("Fields", ("Name", "Type", ""), rows) + _table("Values", ("",), values)


def _type(schema: Part) -> str:
    """A schema in a few words, with a link to the one that it names."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#schema-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    form = f" ({escape(schema['format'])})" if "format" in schema else ""
    return ("any" if kind is None or isinstance(kind, list) else escape(kind)) + form
