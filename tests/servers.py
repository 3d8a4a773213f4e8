"""Real servers for tests: `muster serve` in a process of its own."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polling import PATIENCE, poll
from ports import free_port

MUSTER = Path(sys.executable).with_name("muster")


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.settings: dict[str, str] = {}
        self.served = 1
        self.streams: list[Stream] = []

    def command(self, *more: str) -> list[str]:
        return [str(MUSTER), "serve", "--port", str(self.port), "--data-dir", str(self.folder), *more]

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        return inherited | self.settings

    def start(self) -> float:
        """Start it; the seconds until it was ready."""
        began = time.monotonic()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), env=self.environment(), cwd=self.folder, stdout=log, stderr=log
            )
        poll(self.is_ready, every=0.02)
        return time.monotonic() - began

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return self.call("GET", "/health/ready")[0] == 200
        except OSError:
            return False

    def attempt(self, *more: str) -> "subprocess.CompletedProcess[str]":
        """Start one that is expected to refuse."""
        return subprocess.run(
            self.command(*more),
            env=self.environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def call(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def follow(
        self, path: str, last: str | None = None, headers: Mapping[str, str] | None = None
    ) -> "Stream":
        """Read a stream of events."""
        self.streams.append(Stream(self.port, path, last, headers))
        return self.streams[-1]

    def clean_up(self) -> None:
        """Leave nothing behind, however the test ended."""
        for stream in self.streams:
            stream.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def workers(self, count: int) -> list[int]:
        """The ids of its live workers, once there are so many and all of them answer."""
        return poll(lambda: self._workers(count))

    def _workers(self, count: int) -> list[int] | None:
        assert self.process is not None
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = [int(text) for text in task.read_text().split()]
        served = (self.folder / "log").read_text().count('"event":"serving"')
        if len(found) != count or served <= self.served:
            return None
        self.served = served
        return found

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@dataclass(frozen=True)
class Heard:
    id: str
    event: str
    data: dict[str, Any]


class Stream:
    """A reader of server-sent events. Each read waits for as long as a test may."""

    def __init__(
        self, port: int, path: str, last: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        place = {} if last is None else {"Last-Event-ID": last}
        self.connection.request("GET", path, headers={**place, **(headers or {})})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def __iter__(self) -> Iterator[Heard]:
        """Events until the server ends the stream."""
        fields: dict[str, str] = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if line != "\n":
                fields[name] = value
            elif "data" in fields:
                yield Heard(fields["id"], fields["event"], json.loads(fields["data"]))
                fields = {}

    def close(self) -> None:
        self.answer.close()
        self.connection.close()
