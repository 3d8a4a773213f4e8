"""Running the server: bind, build, serve, and end cleanly when told to."""

import asyncio
import shlex
import signal
import socket
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import structlog
import uvicorn

from muster.api.auth import refuse_to_bind
from muster.api.frame import Access
from muster.api.pages.landing import try_it
from muster.app.build import opened
from muster.app.garbage import look_rarely
from muster.app.load import Loaded
from muster.app.logs import configure_logs
from muster.app.protocol import BoundedProtocol
from muster.app.settings import Settings
from muster.app.storage import CannotOpen, database_name, sqlite_file
from muster.app.workers import CANNOT_START, WorkersFailed, supervise
from muster.store.address import without_user

_log = structlog.get_logger("muster.serve")


def run(loaded: Loaded) -> None:
    """Serve until SIGTERM or SIGINT; open requests get their grace. Raises `CannotOpen`."""
    settings = loaded.settings
    refusal = refuse_to_bind(settings.host, settings.oidc.issuer_uri, settings.insecure)
    if refusal:
        raise CannotOpen(refusal)
    access = configure_logs(settings.log)
    for path in loaded.ignored():
        _log.warning("setting is not read in this version", setting=path, source=loaded.sources[path])
    with bound(settings.host, settings.port) as listener:
        if settings.workers == 1:
            _run_one(settings, listener, access, greet=sys.stdout.isatty())
        else:
            _run_several(settings, listener, access)


def _run_one(settings: Settings, listener: socket.socket, access: Access, greet: bool) -> None:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listener, access, greet))


def _run_several(settings: Settings, listener: socket.socket, access: Access) -> None:
    """Each worker is an instance of its own, on the same socket and the same database."""
    if sqlite_file(settings) is not None:
        raise CannotOpen(
            "SQLite serves one process: for several workers set DB_URL to PostgreSQL or MariaDB, "
            "or leave --workers out."
        )

    def work(number: int) -> None:
        name = f"{settings.instance_id}-{number}"
        try:
            _run_one(settings.model_copy(update={"instance_id": name}), listener, access, greet=False)
        except CannotOpen as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(CANNOT_START)

    if sys.stdout.isatty():
        _greet(settings, listener)
    try:
        supervise(settings.workers, work)
    except WorkersFailed:
        raise CannotOpen("The workers could not start.") from None


def bound(host: str, port: int) -> socket.socket:
    """A socket on that address, not listening yet: who connects too early is refused, not kept waiting."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotOpen(f"{host} is no address to listen on: {error.strerror}.") from None
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(address)
    except OSError as error:
        found.close()
        raise CannotOpen(
            f"Port {port} on {host} cannot be used: {(error.strerror or str(error)).lower()}. "
            "Stop what is using it, or choose another with --port."
        ) from None
    return found


class _Server(uvicorn.Server):
    """Says at once that the end has come, not only when the last open request is answered."""

    def __init__(self, config: uvicorn.Config, retire: Callable[[], None]) -> None:
        super().__init__(config)
        self._retire = retire

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._retire()
        await super().shutdown(sockets)


async def _serve(settings: Settings, listener: socket.socket, access: Access, greet: bool) -> None:
    async with opened(settings, access=access) as house:
        server = _Server(
            uvicorn.Config(
                house.api,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=settings.api.backlog,
                timeout_keep_alive=settings.api.keep_alive,
                timeout_graceful_shutdown=settings.api.shutdown_grace,
            ),
            house.retire,
        )
        if greet:
            _greet(settings, listener)
        _log.info(
            "serving", url=address_of(listener), instance=settings.instance_id, roles=list(settings.roles)
        )
        # uvicorn raises the signal again once it has shut down; by then it has been obeyed.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        look_rarely()
        await server.serve(sockets=[listener])
    _log.info("stopped", instance=settings.instance_id)


def _greet(settings: Settings, listener: socket.socket) -> None:
    sys.stdout.write(welcome(address_of(listener), settings))
    sys.stdout.flush()


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def welcome(url: str, settings: Settings) -> str:
    """Where to look, and what to try."""
    if settings.oidc.issuer_uri:
        access = f"callers need a token of {without_user(settings.oidc.issuer_uri)}, or an API token"
    elif settings.insecure:
        access = "INSECURE: no OpenID provider, and whoever connects is admin"
    else:
        access = "no OpenID provider: this machine only, and callers are admin"
    return f"""
  Muster is at   {url}
  API reference  {url}/docs
  Data           {database_name(settings)}
  Access         {access}
  Demo           {demo_command(settings)}

  Try, in another terminal:
{textwrap.indent(try_it(url), "    ")}
  Ctrl-C ends it.

"""


def demo_command(settings: Settings) -> str:
    """How to load the demo into what is served here, as this very program is called."""
    called = sys.argv[0]
    program = called if Path(called).name == "muster" else "muster"
    usual = Settings.model_fields["data_dir"].default
    where = "" if settings.data_dir == usual else f" --data-dir {shlex.quote(str(settings.data_dir))}"
    return f"{program} demo load{where}"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop, where there is one; None is Python's own."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop
