"""What services there are: how each is installed, started and asked whether it is ready.

A further one is a class of a screen's length in this file, and an entry in `SERVICES`.
"""

import hashlib
import http.client
import os
import pwd
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"


class Trouble(Exception):
    """Said to the person who ran the command, without a stack trace."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def say(message: str) -> None:
    print(f"[services] {message}", file=sys.stderr, flush=True)


# --- what they are made of ----------------------------------------------------------------------


def as_user(user: str, command: Sequence[str]) -> list[str]:
    """Root gives its powers up before it runs a service; anybody else runs it as themselves."""
    if os.getuid() != 0:
        return list(command)
    account = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", *command]


def lay_out(source: Path, target: Path) -> None:
    """Make a download readable by a service's user, who may not enter our home folder: hard links, or copies
    where the file systems differ."""

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copy(one, other)

    shutil.copytree(source, target, copy_function=link, symlinks=True)


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- installing ---------------------------------------------------------------------------------


INSTALLER_ATTEMPTS = 2
INSTALLER_SECONDS = 900  # a download that stalls is begun again: some would wait for hours


def run_installer(command: Sequence[str], log: Path, **environment: str) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(INSTALLER_ATTEMPTS):
        with log.open("w") as out:
            installing = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=os.environ | environment,
                start_new_session=True,
            )
            try:
                code = installing.wait(INSTALLER_SECONDS)
            except BaseException as interruption:
                os.killpg(installing.pid, signal.SIGKILL)  # with whatever it started itself
                installing.wait()
                if not isinstance(interruption, subprocess.TimeoutExpired):
                    raise
                say(f"`{shlex.join(command)}` did not end within {INSTALLER_SECONDS} s")
                continue
        if code != 0:
            raise Trouble(f"`{shlex.join(command)}` failed:\n{tail(log)}")
        return
    raise Trouble(f"`{shlex.join(command)}` did not end:\n{tail(log)}")


def tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def apt_install(packages: Sequence[str]) -> None:
    if shutil.which("apt-get") is None:
        raise Trouble(f"there is no apt-get here: install what Debian calls {', '.join(packages)} yourself")
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


def npm_modules(name: str, source: Path) -> Path:
    """Where what a folder's `package-lock.json` names is installed."""
    lock = (source / "package-lock.json").read_bytes()
    return CACHE / f"{name}-{hashlib.sha256(lock).hexdigest()[:12]}" / "node_modules"


def npm_install(name: str, source: Path) -> None:
    say(f"npm ci: {name}")
    CACHE.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=CACHE))
    try:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(source / file, scratch)
        npm = ["npm", "ci", "--prefix", str(scratch), "--ignore-scripts", "--no-fund", "--no-audit"]
        run_installer(npm, CACHE / "npm.log")
        scratch.rename(npm_modules(name, source).parent)  # whole or not at all
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def maven_jars(name: str, source: Path) -> Path:
    """Where what a folder's `pom.xml` names is installed."""
    pom = (source / "pom.xml").read_bytes()
    return CACHE / f"{name}-{hashlib.sha256(pom).hexdigest()[:12]}" / "jars"


def maven_install(name: str, source: Path) -> None:
    """Archives among it are unpacked."""
    say(f"mvn: {name}")
    CACHE.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=CACHE))
    try:
        jars = scratch / "jars"
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        mvn = ["mvn", "-q", "-B", "-ntp", "-f", str(source / "pom.xml"), *copy]
        run_installer(mvn, CACHE / "mvn.log")
        for archive in jars.glob("*.tar.gz"):
            shutil.unpack_archive(archive, jars, filter="data")
            archive.unlink()
        scratch.rename(maven_jars(name, source).parent)  # whole or not at all
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


# --- services -----------------------------------------------------------------------------------


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

    def is_installed(self) -> bool:
        return super().is_installed() and npm_modules(self.name, self.source).is_dir()

    def install(self) -> None:
        if not super().is_installed():
            super().install()
        npm_install(self.name, self.source)

    def prepare(self, home: Path) -> None:
        lay_out(npm_modules(self.name, self.source), home / "node_modules")
        shutil.copy(self.source / "server.mjs", home)

    def command(self, home: Path, port: int) -> list[str]:
        return [shutil.which("node") or "node", str(home / "server.mjs"), str(port)]

    def is_ready(self, port: int) -> bool:
        return answers_http(port, "/.well-known/openid-configuration")

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_OIDC_ISSUER": f"http://127.0.0.1:{port}"}


@dataclass(frozen=True)
class Workers(Software):
    """What workers in JavaScript are written with: the packages that `tests/workers` names."""

    name: str = "workers"
    packages: tuple[str, ...] = ("nodejs", "npm")
    commands: tuple[str, ...] = ("node", "npm")
    source: Path = CHECKOUT / "tests" / "workers"

    @property
    def modules(self) -> Path:
        return npm_modules(self.name, self.source)

    def is_installed(self) -> bool:
        return super().is_installed() and self.modules.is_dir()

    def install(self) -> None:
        if not super().is_installed():
            super().install()
        npm_install(self.name, self.source)


JAVA = Software("java", ("default-jdk-headless", "maven"), ("java", "mvn"))


@dataclass(frozen=True)
class Kafka(Service):
    """One broker that is its own controller (KRaft), on the jars that `scripts/kafka/pom.xml` names."""

    name: str = "kafka"
    packages: tuple[str, ...] = JAVA.packages
    commands: tuple[str, ...] = JAVA.commands
    stop_signal: signal.Signals = signal.SIGKILL  # its data goes with it, and asking takes seconds
    seconds_to_start: float = 180
    source: Path = CHECKOUT / "scripts" / "kafka"

    def _jars(self) -> Path:
        return maven_jars(self.name, self.source)

    def is_installed(self) -> bool:
        return super().is_installed() and self._jars().is_dir()

    def install(self) -> None:
        if not super().is_installed():
            super().install()
        maven_install(self.name, self.source)

    def prepare(self, home: Path) -> None:
        lay_out(self._jars(), home / "jars")
        shutil.copy(self.source / "log4j2.properties", home)
        settings = self._settings(home, free_port())
        identity = ["-t", "bXVzdGVyLWZvci10ZXN0cw", "-c", str(settings)]
        storage = self._java(home, "-Xmx128m", "kafka.tools.StorageTool", "format", *identity)
        run_installer(as_user(self.user, storage), home / "prepare.log")

    def command(self, home: Path, port: int) -> list[str]:
        return self._java(home, "-Xms128m", "-Xmx512m", "kafka.Kafka", str(self._settings(home, port)))

    def _java(self, home: Path, *arguments: str) -> list[str]:
        quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
        logging = f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}"
        return [shutil.which("java") or "java", *quick, logging, "-cp", f"{home / 'jars'}/*", *arguments]

    def _settings(self, home: Path, port: int) -> Path:
        controller = free_port()
        own = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(home / "data" / "log"),
        }
        lines = [f"{name}={value}\n" for name, value in own.items()]
        settings = home / "server.properties"
        settings.write_text((self.source / "server.properties").read_text() + "".join(lines))
        return settings

    def is_ready(self, port: int) -> bool:
        """Whether it says which requests it takes: that is request 18 of Kafka's protocol."""
        question = struct.pack(">hhih", 18, 0, 1, -1)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(struct.pack(">i", len(question)) + question)
                return connection.recv(8)[4:] == struct.pack(">i", 1)
        except OSError:
            return False

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_KAFKA_BOOTSTRAP": f"127.0.0.1:{port}"}


@dataclass(frozen=True)
class Registry(Service):
    """A schema registry, Apicurio's, which speaks as Confluent's does; its schemas are in its memory."""

    name: str = "registry"
    packages: tuple[str, ...] = JAVA.packages
    commands: tuple[str, ...] = JAVA.commands
    stop_signal: signal.Signals = signal.SIGKILL  # its data goes with it
    seconds_to_start: float = 180
    source: Path = CHECKOUT / "scripts" / "registry"

    def is_installed(self) -> bool:
        return super().is_installed() and maven_jars(self.name, self.source).is_dir()

    def install(self) -> None:
        if not super().is_installed():
            super().install()
        maven_install(self.name, self.source)

    def prepare(self, home: Path) -> None:
        lay_out(maven_jars(self.name, self.source), home / "jars")

    def command(self, home: Path, port: int) -> list[str]:
        [runner] = (home / "jars").glob("*-runner.jar")
        settings = {
            "java.io.tmpdir": home / "data",
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": port,
            "quarkus.log.level": "WARN",
            "quarkus.http.access-log.enabled": "false",
        }
        quick = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        given = [f"-D{name}={value}" for name, value in settings.items()]
        return [shutil.which("java") or "java", *quick, *given, "-jar", str(runner)]

    def is_ready(self, port: int) -> bool:
        return answers_http(port, "/apis/ccompat/v7/subjects")

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_REGISTRY_URL": f"http://127.0.0.1:{port}/apis/ccompat/v7"}


SERVICES: dict[str, Service] = {
    one.name: one for one in (Postgres(), MariaDb(), Redis(), Oidc(), Kafka(), Registry())
}
CHROMIUM = Software("chromium", ("chromium",), ("chromium",))
PROMETHEUS = Software("prometheus", ("prometheus",), ("promtool",))
PGBOUNCER = Software("pgbouncer", ("pgbouncer",), ("pgbouncer",))
SYSTEMD = Software("systemd", ("systemd",), ("systemd-analyze",))

SOFTWARE: dict[str, Software] = {
    **SERVICES,
    "java": JAVA,
    "prometheus": PROMETHEUS,
    "pgbouncer": PGBOUNCER,
    "systemd": SYSTEMD,
    "workers": Workers(),
    "chromium": CHROMIUM,
}
