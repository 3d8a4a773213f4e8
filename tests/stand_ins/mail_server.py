"""A real SMTP server (aiosmtpd) on loopback that can be told to refuse, to put off and to hang up."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


@dataclass
class Arrived:
    sender: str
    recipients: list[str]
    content: bytes
    at: float
    encrypted: bool

    @property
    def message(self) -> EmailMessage:
        read = message_from_bytes(self.content, policy=policy.default)
        assert isinstance(read, EmailMessage)
        return read


@dataclass
class MailServer:
    """Answers by recipient and by message; what it was given is in `arrived`."""

    port: int = 0
    arrived: list[Arrived] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    sender_answer: str | None = None
    hangs_up_in_data: int = 0
    holds: asyncio.Event | None = None
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    most_open: int = 0
    logins: list[tuple[str, str]] = field(default_factory=list)
    password: str = "pass word"
    protocols: set["_Protocol"] = field(default_factory=set)

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.sender_answer is not None:
            return self.sender_answer
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.holds is not None:
            self.holding.set()
            await self.holds.wait()
        if self.hangs_up_in_data:
            self.hangs_up_in_data -= 1
            assert server.transport is not None
            server.transport.abort()
            return "421 gone"
        answer = self.answers.pop(0) if self.answers else "250 taken"
        if answer.startswith("2"):
            at = asyncio.get_running_loop().time()
            encrypted = session.ssl is not None
            content = envelope.content if isinstance(envelope.content, bytes) else b""
            sender = envelope.mail_from or ""
            self.arrived.append(Arrived(sender, list(envelope.rcpt_tos), content, at, encrypted))
        return answer

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
    ) -> AuthResult:
        pair = (data.login.decode(), data.password.decode())
        self.logins.append(pair)
        return AuthResult(success=pair == ("ada", self.password), handled=False)

    def hang_up(self) -> None:
        """End every connection that is open, as servers do with those that are idle."""
        for protocol in list(self.protocols):
            assert protocol.transport is not None
            protocol.transport.abort()


class _Protocol(SMTP):
    house: MailServer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        again = self in self.house.protocols  # STARTTLS begins anew on the same connection
        super().connection_made(transport)  # type: ignore[arg-type]  # it is a transport of streams
        if not again:
            self.house.protocols.add(self)
            self.house.connections += 1
            self.house.most_open = max(self.house.most_open, len(self.house.protocols))

    def connection_lost(self, error: Exception | None) -> None:
        self.house.protocols.discard(self)
        super().connection_lost(error)


@asynccontextmanager
async def mail_server(
    starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, login: bool = False
) -> AsyncIterator[MailServer]:
    """A server that is up while the block runs."""
    house = MailServer()

    def protocol() -> SMTP:
        made = _Protocol(
            house,
            hostname="mail.example",
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=house.authenticate if login else None,
            auth_required=login,
            auth_require_tls=starttls is not None,
            loop=asyncio.get_running_loop(),
        )
        made.house = house
        return made

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=tls)
    house.port = server.sockets[0].getsockname()[1]
    try:
        yield house
    finally:
        server.close()
        house.hang_up()
        await asyncio.sleep(0)
        await server.wait_closed()
