"""Mail over SMTP: a few connections that are kept, so many messages a second."""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import aiosmtplib
from aiosmtplib import SMTP

from muster.engine.state import Failure
from muster.net.limits import Pace
from muster.net.message import BadMail, Letter, write_letter
from muster.nodes.ports import Mail, Sent

MOST_PER_CONNECTION = 100
IDLE_SECONDS = 30.0
FRESH_SECONDS = 1.0
# Attachments beyond this are written on a thread, so that nobody else waits for it.
AT_ONCE = 256 * 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


class Security(StrEnum):
    """`starttls` begins in the clear and insists on changing over; `tls` begins encrypted."""

    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where mail goes, and how fast. `domain` is that of Message-IDs; without it, the sender's."""

    host: str
    port: int
    sender: str
    security: Security = Security.STARTTLS
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    domain: str | None = None
    connections: int = 4
    per_second: float = 10.0
    seconds: float = 30.0
    most_bytes: int = 25 * 1024 * 1024
    tls: ssl.SSLContext | None = field(default=None, repr=False)


@dataclass(slots=True)
class _Line:
    """A connection that is kept, and how it was used."""

    client: SMTP
    used: float = 0.0
    messages: int = 0


class SmtpMailer:
    """`nodes.ports.Mailer` for a server."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._pace = Pace(server.per_second)
        self._turns = asyncio.Semaphore(server.connections)
        self._idle: list[_Line] = []
        # Made once: reading the authorities takes longer than a message.
        self._tls = None if server.security is Security.NONE else server.tls or ssl.create_default_context()

    async def send(self, mail: Mail) -> Sent | Failure:
        try:
            letter = await self._written(mail)
        except BadMail as bad:
            return Failure("BadMessage", str(bad))
        await self._pace.turn()
        try:
            return await self._sent(letter)
        except aiosmtplib.SMTPRecipientsRefused as refused:
            return _refusal(refused)
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as trouble:
            return _trouble(self._server.host, trouble)

    async def check(self) -> Failure | None:
        """Connect, say who one is, and hang up; what is wrong with that, if anything."""
        try:
            await _hang_up(await self._connected())
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as trouble:
            return _trouble(self._server.host, trouble)
        return None

    async def close(self) -> None:
        while self._idle:
            await _hang_up(self._idle.pop().client)

    async def _written(self, mail: Mail) -> Letter:
        server = self._server
        parts = mail, server.sender, server.domain, server.most_bytes
        if sum(len(attachment.content) for attachment in mail.attachments) < AT_ONCE:
            return write_letter(*parts)
        return await asyncio.to_thread(write_letter, *parts)

    async def _sent(self, letter: Letter) -> Sent:
        async with self._line() as client:
            refused, _ = await client.sendmail(letter.sender, letter.recipients, letter.content)
        told = tuple((who, _words(answer.code, answer.message)) for who, answer in refused.items())
        return Sent(letter.message_id, refused=told)

    @asynccontextmanager
    async def _line(self) -> AsyncIterator[SMTP]:
        """A connection of one's own. It is kept if nothing went wrong on it but what the server says."""
        async with self._turns:
            line = await self._kept() or _Line(await self._connected())
            try:
                yield line.client
            except (aiosmtplib.SMTPResponseException, aiosmtplib.SMTPRecipientsRefused):
                await self._keep(line)
                raise
            except BaseException:
                line.client.close()
                raise
            await self._keep(line)

    async def _kept(self) -> _Line | None:
        while self._idle:
            line = self._idle.pop()
            if await _is_alive(line):
                return line
            line.client.close()
        return None

    async def _keep(self, line: _Line) -> None:
        line.messages, line.used = line.messages + 1, time.monotonic()
        if line.client.is_connected and line.messages < MOST_PER_CONNECTION:
            self._idle.append(line)
        else:
            await _hang_up(line.client)

    async def _connected(self) -> SMTP:
        server = self._server
        client = SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            # Given, because finding out would ask DNS on the event loop.
            local_hostname=server.domain or "localhost",
            timeout=server.seconds,
            use_tls=server.security is Security.TLS,
            start_tls=server.security is Security.STARTTLS,
            tls_context=self._tls,
        )
        await client.connect()
        return client


class CapturingMailer:
    """`nodes.ports.Mailer` where no server is configured: messages are written, checked and kept."""

    def __init__(self, sender: str = "muster@localhost", most_bytes: int = 25 * 1024 * 1024) -> None:
        self._sender, self._most_bytes = sender, most_bytes

    async def send(self, mail: Mail) -> Sent | Failure:
        try:
            letter = write_letter(mail, self._sender, None, self._most_bytes)
        except BadMail as bad:
            return Failure("BadMessage", str(bad))
        return Sent(letter.message_id, captured=True)


async def _is_alive(line: _Line) -> bool:
    """Whether a kept connection still is one: servers end those that are idle."""
    idle = time.monotonic() - line.used
    if not line.client.is_connected or idle > IDLE_SECONDS:
        return False
    if idle < FRESH_SECONDS:
        return True
    try:
        return (await line.client.noop()).code == 250
    except (aiosmtplib.SMTPException, OSError):
        return False


async def _hang_up(client: SMTP) -> None:
    try:
        await client.quit()
    except (aiosmtplib.SMTPException, OSError):
        client.close()


def _refusal(refused: aiosmtplib.SMTPRecipientsRefused) -> Failure:
    """Nobody was taken. It may pass if one of them was only put off."""
    codes = [each.code for each in refused.recipients]
    told = "; ".join(f"{each.recipient}: {_words(each.code, each.message)}" for each in refused.recipients)
    return Failure("RecipientsRefused", told[:1_000], retryable=any(code < 500 for code in codes))


def _trouble(host: str, trouble: Exception) -> Failure:
    if isinstance(trouble, aiosmtplib.SMTPAuthenticationError):
        passing = trouble.code < 500
        return Failure("MailLogin", f"{host} refuses the configured login ({trouble.code})", passing)
    if isinstance(trouble, aiosmtplib.SMTPResponseException):
        words = _words(trouble.code, trouble.message)
        return Failure("MailRefused", f"{host} refuses the message: {words}", not 500 <= trouble.code < 600)
    if _is_about_the_certificate(trouble):
        return Failure("BadCertificate", f"the certificate of {host} cannot be verified")
    if isinstance(trouble, aiosmtplib.SMTPNotSupported) or "not supported by server" in str(trouble):
        return Failure("MailSecurity", f"{host} does not offer what is configured: STARTTLS or a login")
    if isinstance(trouble, TimeoutError):
        return Failure("Timeout", f"{host} did not answer in time", retryable=True, unsure=True)
    return Failure("NetworkError", f"the connection to {host} failed", retryable=True, unsure=True)


def _is_about_the_certificate(trouble: BaseException | None) -> bool:
    while trouble is not None:
        if isinstance(trouble, ssl.SSLCertVerificationError):
            return True
        trouble = trouble.__cause__ or trouble.__context__
    return False


def _words(code: int, message: str) -> str:
    return f"{code} {_CONTROL.sub(' ', message)[:300]}"
