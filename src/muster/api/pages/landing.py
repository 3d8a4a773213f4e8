"""The front page: what this is, and where to go."""

from html import escape

from muster.api.pages.console import HOW_TO_BUILD
from muster.api.pages.layout import page

_TRY = """\
curl -s {url}/api/workflow --data-binary '
workflow:
  name: Hello
  nodes:
    - id: greet
      type: TRANSFORM
      config:
        transformations: [{{field: greeting, expression: "#{{name}}"}}]
'
curl -s '{url}/api/workflow/visualize/hello?format=mermaid'
"""


def try_it(url: str) -> str:
    """Two commands to begin with: save a workflow, draw it."""
    return _TRY.format(url=url)


_CONSOLE = '<li><a href="/console/">Console</a>: design, run and watch workflows</li>'
_NO_CONSOLE = f"<li>The console is not built here: <code>{HOW_TO_BUILD}</code> builds it, with Node.js</li>"


def landing(url: str, version: str, has_console: bool) -> str:
    return page(
        "Muster",
        f"""<main class="page"><h1>Muster</h1>
<p>Event-driven workflows: it runs the processes you own and watches the processes you don't.
<span class="quiet">Version {escape(version)}.</span></p>
<ul>
{_CONSOLE if has_console else _NO_CONSOLE}
<li><a href="/docs">API reference</a>: every endpoint, with examples;
as a document, <a href="/openapi.json">openapi.json</a></li>
<li><a href="/api/workflow">Workflows</a> and <a href="/api/workflow/node-types">node types</a>, as JSON</li>
<li><a href="/actuator/health">Health</a> and <a href="/metrics">metrics</a></li>
</ul>
<h2>Try it</h2>
<p>Save a workflow, then draw it:</p>
<pre>{escape(try_it(url))}</pre>
<p>On the command line: <code>muster validate FILE</code>, <code>muster diagram FILE</code>,
<code>muster eval EXPRESSION</code>; <code>muster --help</code> lists the rest.</p></main>""",
    )
