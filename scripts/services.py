#!/usr/bin/env python3
"""Real services for the tests, on free ports of 127.0.0.1, without containers (Linux only).

    scripts/services.py install [NAME…]   put the software there: Debian packages, npm
    scripts/services.py up [NAME…]        start what is not running; print its address as `export` lines
    scripts/services.py env [NAME…]       print the addresses of what is running
    scripts/services.py status [NAME…]    say what is running
    scripts/services.py down [NAME…]      end what `up` started, and remove its data

No NAME means all. Callers may overlap: a service is started once, and the others get its address.
`postgres@mine` is a second PostgreSQL apart from the shared one, for whoever means to stop or break it.
Data lives in $MUSTER_SERVICES_DIR (default: a temporary folder of this checkout's own), downloads in
${XDG_CACHE_HOME:-~/.cache}/muster. Exit code 3: it is not installed.
"""

import argparse
import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import pwd
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"
NOT_INSTALLED = 3
START_ATTEMPTS = 3  # a port that was free a moment ago may be taken by the time the service binds it


class Trouble(Exception):
    """Said to the person who ran the command, without a stack trace."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def say(message: str) -> None:
    print(f"[services] {message}", file=sys.stderr, flush=True)


# --- folders and locks --------------------------------------------------------------------------


def services_dir() -> Path:
    """The folder of everything that runs; readable by the services' users, ours to write."""
    named = os.environ.get("MUSTER_SERVICES_DIR")
    key = hashlib.sha256(str(CHECKOUT).encode()).hexdigest()[:12]
    folder = Path(named) if named else Path(tempfile.gettempdir()) / f"muster-services-{os.getuid()}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise Trouble(f"{folder} belongs to somebody else: set MUSTER_SERVICES_DIR to a folder of your own")
    folder.chmod(0o755)
    return folder.resolve()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among processes. The kernel lets go when the holder dies, so a crash leaves nothing locked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lay_out(source: Path, target: Path) -> None:
    """Make a download readable by a service's user, who may not enter our home folder: hard links, or copies
    where the file systems differ."""

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copy(one, other)

    shutil.copytree(source, target, copy_function=link, symlinks=True)


# --- processes ----------------------------------------------------------------------------------


def birth_of(pid: int) -> str | None:
    """What tells a process from a later one with the same number. None: it is gone, or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *rest = stat.rpartition(")")[2].split()  # the name in parentheses may hold spaces
    return None if state in "ZX" else f"{boot}/{rest[18]}"


@dataclass(frozen=True)
class Running:
    """A service that was started. It is alive only while the process has the birth that was noted."""

    pid: int
    birth: str
    port: int

    def is_alive(self) -> bool:
        return birth_of(self.pid) == self.birth

    def end(self, how: signal.Signals, patience: float) -> None:
        """Ask it to end, and insist when patience runs out. A recycled number is never signalled: the
        descriptor holds on to one process, whose birth is looked at after it was taken."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if not self.is_alive():
                return
            signal.pidfd_send_signal(descriptor, how)
            if not select.select([descriptor], [], [], patience)[0]:
                say(f"process {self.pid} did not end within {patience:g} s: killing it")
                os.killpg(self.pid, signal.SIGKILL)  # it still exists, so the group is still its own
                select.select([descriptor], [], [], 5)
        except ProcessLookupError:
            return  # it ended between the look and the signal
        finally:
            os.close(descriptor)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_user(user: str, command: Sequence[str]) -> list[str]:
    """Root gives its powers up before it runs a service; anybody else runs it as themselves."""
    if os.getuid() != 0:
        return list(command)
    account = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", *command]


def give_to(user: str, folder: Path) -> None:
    folder.mkdir()
    if os.getuid() == 0:
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)


def answers(command: Sequence[str]) -> bool:
    try:
        asked = subprocess.run(command, capture_output=True, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0


def answers_http(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


# --- installing ---------------------------------------------------------------------------------


def run_installer(command: Sequence[str], log: Path, **environment: str) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=os.environ | environment,
            check=False,
        )
    if done.returncode != 0:
        raise Trouble(f"`{shlex.join(command)}` failed:\n{tail(log)}")


def tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def apt_install(packages: Sequence[str]) -> None:
    if os.getuid() != 0:
        raise Trouble(
            f"installing needs root: sudo apt-get install --no-install-recommends {' '.join(packages)}"
        )
    say(f"apt-get install {' '.join(packages)}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    patient = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=600"]
    run_installer([*patient, "update"], CACHE / "apt-update.log", **quiet)
    run_installer(
        [*patient, "install", "-y", "--no-install-recommends", *packages], CACHE / "apt-install.log", **quiet
    )


@dataclass(frozen=True)
class Software:
    """Something that is installed from Debian packages, and is there once its commands are."""

    name: str
    packages: tuple[str, ...]
    commands: tuple[str, ...]

    def is_installed(self) -> bool:
        return all(shutil.which(command) for command in self.commands)

    def install(self) -> None:
        """Called by one process at a time, and only when something is missing."""
        apt_install(self.packages)


# --- services -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Service(Software):
    """Software that runs. `home` is its folder, ours to write; `home/data` belongs to its user."""

    user: str = "nobody"
    stop_signal: signal.Signals = signal.SIGTERM
    seconds_to_start: float = 60
    seconds_to_stop: float = 20

    def prepare(self, home: Path) -> None:
        """Once, before the first start on empty data."""

    def command(self, home: Path, port: int) -> list[str]:
        raise NotImplementedError

    def is_ready(self, port: int) -> bool:
        """Whether the service itself answers."""
        raise NotImplementedError

    def exports(self, port: int) -> dict[str, str]:
        """Where tests find it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Postgres(Service):
    name: str = "postgres"
    packages: tuple[str, ...] = ("postgresql",)
    commands: tuple[str, ...] = ()
    user: str = "postgres"
    stop_signal: signal.Signals = signal.SIGINT  # the fast shutdown: does not wait for clients to leave

    def _program(self, name: str) -> str | None:
        """Debian keeps the server's programs, one folder per version, out of the PATH."""
        found = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
        newest = max(found, key=lambda path: float(path.parts[-3]), default=None)
        return str(newest) if newest else shutil.which(name)

    def _bin(self, name: str) -> str:
        return self._program(name) or name

    def is_installed(self) -> bool:
        return self._program("initdb") is not None

    def prepare(self, home: Path) -> None:
        flags = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        initdb = [self._bin("initdb"), f"--pgdata={home / 'data' / 'cluster'}", *flags]
        run_installer(as_user(self.user, initdb), home / "prepare.log")

    def command(self, home: Path, port: int) -> list[str]:
        # Durable as in production (fsync stays on): the same server serves fault tests and benchmarks.
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            "shared_buffers": "64MB",
        }
        flags = [f"-c{name}={value}" for name, value in settings.items()]
        return [self._bin("postgres"), "-D", str(home / "data" / "cluster"), "-p", str(port), *flags]

    def is_ready(self, port: int) -> bool:
        return answers([self._bin("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres"])

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_POSTGRES_URL": f"postgresql://postgres@127.0.0.1:{port}/postgres"}


@dataclass(frozen=True)
class MariaDb(Service):
    name: str = "mariadb"
    packages: tuple[str, ...] = ("mariadb-server",)
    commands: tuple[str, ...] = ("mariadbd", "mariadb-install-db", "mariadb-admin")
    user: str = "mysql"

    def prepare(self, home: Path) -> None:
        install = [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={home / 'data' / 'db'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ]
        run_installer(as_user(self.user, install), home / "prepare.log")

    def command(self, home: Path, port: int) -> list[str]:
        return [
            shutil.which("mariadbd") or "mariadbd",
            "--no-defaults",
            f"--datadir={home / 'data' / 'db'}",
            "--socket=server.sock",  # in the data folder; a full path may be too long for a socket
            "--pid-file=server.pid",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--max-connections=200",
            "--innodb-buffer-pool-size=64M",
            "--character-set-server=utf8mb4",
        ]

    def is_ready(self, port: int) -> bool:
        return answers(
            ["mariadb-admin", "--no-defaults", "-h", "127.0.0.1", "-P", str(port), "-u", "root", "ping"]
        )

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_MARIADB_URL": f"mysql://root@127.0.0.1:{port}/mysql"}


@dataclass(frozen=True)
class Redis(Service):
    name: str = "redis"
    packages: tuple[str, ...] = ("redis-server",)
    commands: tuple[str, ...] = ("redis-server",)
    user: str = "redis"

    def command(self, home: Path, port: int) -> list[str]:
        where = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(home / "data")]
        return ["redis-server", *where, "--save", "", "--appendonly", "no"]

    def is_ready(self, port: int) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_REDIS_URL": f"redis://127.0.0.1:{port}/0"}


@dataclass(frozen=True)
class Oidc(Service):
    """An OpenID provider: `scripts/oidc/server.mjs` on the npm package `oidc-provider`."""

    name: str = "oidc"
    packages: tuple[str, ...] = ("nodejs", "npm")
    commands: tuple[str, ...] = ("node", "npm")
    source: Path = CHECKOUT / "scripts" / "oidc"

    def _modules(self) -> Path:
        lock = (self.source / "package-lock.json").read_bytes()
        return CACHE / f"oidc-{hashlib.sha256(lock).hexdigest()[:12]}" / "node_modules"

    def is_installed(self) -> bool:
        return super().is_installed() and self._modules().is_dir()

    def install(self) -> None:
        if not super().is_installed():
            super().install()
        say("npm ci: oidc-provider")
        CACHE.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=CACHE))
        try:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(self.source / name, scratch)
            npm = ["npm", "ci", "--prefix", str(scratch), "--ignore-scripts", "--no-fund", "--no-audit"]
            run_installer(npm, CACHE / "npm.log")
            scratch.rename(self._modules().parent)  # whole or not at all
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def prepare(self, home: Path) -> None:
        lay_out(self._modules(), home / "node_modules")
        shutil.copy(self.source / "server.mjs", home)

    def command(self, home: Path, port: int) -> list[str]:
        return [shutil.which("node") or "node", str(home / "server.mjs"), str(port)]

    def is_ready(self, port: int) -> bool:
        return answers_http(port, "/.well-known/openid-configuration")

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_OIDC_ISSUER": f"http://127.0.0.1:{port}"}


SERVICES: dict[str, Service] = {one.name: one for one in (Postgres(), MariaDb(), Redis(), Oidc())}
SOFTWARE: dict[str, Software] = {
    **SERVICES,
    "java": Software("java", ("default-jdk-headless", "maven"), ("java", "mvn")),
}


# --- what the commands do -----------------------------------------------------------------------


def installed(software: Software) -> None:
    """Install it unless it is there. One installation at a time on this machine and account."""
    if software.is_installed():
        return
    with locked(CACHE / "install.lock"):
        if software.is_installed():
            return
        began = time.monotonic()
        software.install()
        if not software.is_installed():
            raise Trouble(f"{software.name} was installed, but its programs are not found")
        say(f"{software.name} installed in {time.monotonic() - began:.1f} s")


def service_of(name: str) -> Service:
    """`oidc` and `oidc@mine` are two instances of one service."""
    base, apart, tag = name.partition("@")
    if base not in SERVICES or (apart and not re.fullmatch(r"[a-z0-9-]+", tag)):
        raise Trouble(f"there is no service {name!r}; there is {', '.join(SERVICES)}", 2)
    return SERVICES[base]


def home_of(name: str) -> Path:
    service_of(name)  # so that a name is never a way out of the folder
    return services_dir() / name


def instances() -> list[str]:
    """Every service, and whatever was started apart."""
    return [*SERVICES, *sorted(home.name for home in services_dir().glob("*@*") if home.is_dir())]


def read_state(home: Path) -> Running | None:
    """What runs there now. None: nothing, whatever an earlier run may have left behind."""
    try:
        running = Running(**json.loads((home / "state.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return running if running.is_alive() else None


def write_state(home: Path, running: Running) -> None:
    draft = home / "state.json.new"
    draft.write_text(json.dumps(running.__dict__))
    draft.replace(home / "state.json")


def spawn(service: Service, home: Path, port: int) -> Running | None:
    """Start the process in a session of its own, so that an interrupt meant for the tests does not reach it.
    None: it was gone at once."""
    with (home / "service.log").open("a") as log:
        process = subprocess.Popen(
            as_user(service.user, service.command(home, port)),
            cwd=home / "data",
            env=os.environ | {"HOME": str(home / "data")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    birth = birth_of(process.pid)
    return Running(process.pid, birth, port) if birth else None


def await_ready(service: Service, running: Running) -> bool:
    """False: it ended, or did not answer in time."""
    deadline = time.monotonic() + service.seconds_to_start
    while running.is_alive() and time.monotonic() < deadline:
        if service.is_ready(running.port) and running.is_alive():
            return True
        time.sleep(0.05)
    return False


def start(service: Service, home: Path) -> Running:
    for _ in range(START_ATTEMPTS):
        running = spawn(service, home, free_port())
        if running is None:
            continue
        write_state(home, running)
        if await_ready(service, running):
            return running
        running.end(signal.SIGKILL, patience=5)
    raise Trouble(f"{service.name} does not start:\n{tail(home / 'service.log')}")


def up(name: str) -> Running:
    service = service_of(name)
    if not service.is_installed():
        raise Trouble(
            f"{service.name} is not installed: scripts/services.py install {service.name}", NOT_INSTALLED
        )
    home = home_of(name)
    with locked(home.with_name(f"{name}.lock")):
        running = read_state(home)
        if running and await_ready(service, running):
            return running
        began = time.monotonic()
        if running:
            running.end(signal.SIGKILL, patience=5)  # alive, and yet it does not answer
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        give_to(service.user, home / "data")
        service.prepare(home)
        running = start(service, home)
        say(f"{name} up on port {running.port} in {time.monotonic() - began:.1f} s")
        return running


def down(name: str) -> None:
    service, home = service_of(name), home_of(name)
    with locked(home.with_name(f"{name}.lock")):
        running = read_state(home)
        if running:
            running.end(service.stop_signal, service.seconds_to_stop)
            say(f"{name} down")
        shutil.rmtree(home, ignore_errors=True)


def print_exports(name: str, running: Running) -> None:
    for variable, value in service_of(name).exports(running.port).items():
        print(f"export {variable}={shlex.quote(value)}")


def print_status(name: str) -> None:
    running = read_state(home_of(name))
    print(f"{name:10} " + (f"up    pid {running.pid}  port {running.port}" if running else "down"))


def install_all(names: Sequence[str]) -> None:
    for name in names or SOFTWARE:
        installed(SOFTWARE.get(name) or service_of(name))


def up_all(names: Sequence[str]) -> None:
    for name in names or SERVICES:
        print_exports(name, up(name))


def env_all(names: Sequence[str]) -> None:
    for name in names or SERVICES:
        if running := read_state(home_of(name)):
            print_exports(name, running)


def status_all(names: Sequence[str]) -> None:
    for name in names or instances():
        print_status(name)


def down_all(names: Sequence[str]) -> None:
    for name in names or instances():
        down(name)


COMMANDS = {"install": install_all, "up": up_all, "env": env_all, "status": status_all, "down": down_all}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SOFTWARE))
    given = parser.parse_args()
    try:
        COMMANDS[given.command](given.names)
    except Trouble as trouble:
        say(str(trouble))
        return trouble.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
