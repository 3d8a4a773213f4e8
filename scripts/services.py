#!/usr/bin/env python3
"""Real services for the tests, on free ports of 127.0.0.1, without containers (Linux only).

    scripts/services.py install [NAME…]   put the software there: Debian packages, npm, Maven
    scripts/services.py up [NAME…]        start what is not running; print its address as `export` lines
    scripts/services.py env [NAME…]       print the addresses of what is running
    scripts/services.py status [NAME…]    say what is running
    scripts/services.py down [NAME…]      end what `up` started, and remove its data

No NAME means all. Callers may overlap: a service is started once, and the others get its address.
`postgres@mine` is a second PostgreSQL apart from the shared one, for whoever means to stop or break it.
Data lives in $TEST_SERVICES_DIR (default: a temporary folder of this checkout's own), downloads in
${XDG_CACHE_HOME:-~/.cache}/muster. Exit code 3: it is not installed.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pwd
import re
import select
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from service_kinds import (
    CACHE,
    CHECKOUT,
    SERVICES,
    SOFTWARE,
    Service,
    Software,
    Trouble,
    as_user,
    free_port,
    say,
    tail,
)

NOT_INSTALLED = 3
START_ATTEMPTS = 3  # a port that was free a moment ago may be taken by the time the service binds it


# --- folders and locks --------------------------------------------------------------------------


def services_dir() -> Path:
    """The folder of everything that runs; readable by the services' users, ours to write."""
    named = os.environ.get("TEST_SERVICES_DIR")
    key = hashlib.sha256(str(CHECKOUT).encode()).hexdigest()[:12]
    folder = Path(named) if named else Path(tempfile.gettempdir()) / f"muster-services-{os.getuid()}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise Trouble(f"{folder} belongs to somebody else: set TEST_SERVICES_DIR to a folder of your own")
    folder.chmod(0o755)
    return folder.resolve()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among processes. The kernel lets go when the holder dies, so a crash leaves nothing locked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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


def give_to(user: str, folder: Path) -> None:
    folder.mkdir()
    if os.getuid() == 0:
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)


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
    draft.write_text(json.dumps(asdict(running)))
    draft.replace(home / "state.json")


def spawn(service: Service, home: Path, port: int) -> Running | None:
    """Start the process in a session of its own, so that an interrupt meant for the tests does not reach it.
    None: it was gone at once."""
    command = ["env", f"--chdir={home / 'data'}", *as_user(service.user, service.command(home, port))]
    environment = os.environ | {"HOME": str(home / "data")}
    with (home / "service.log").open("a") as log:
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
        ]
        # Not by `subprocess`, which complains of a child that is not waited for: this one outlives us.
        pid = os.posix_spawnp(command[0], command, environment, file_actions=streams, setsid=True)
    birth = birth_of(pid)
    return Running(pid, birth, port) if birth else None


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
        try:
            write_state(home, running)
            if await_ready(service, running):
                return running
        except BaseException:
            running.end(signal.SIGKILL, patience=5)  # interrupted: nothing half started stays behind
            raise
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
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: cleanly
    try:
        COMMANDS[given.command](given.names)
    except Trouble as trouble:
        say(str(trouble))
        return trouble.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
