"""What is hostile in any field of an e-mail becomes no header, no recipient and no second message: a real
mail server is sent it, and every line that arrived is looked at."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy

import pytest

from muster.engine.state import Failure
from muster.net.mail import Security, SmtpMailer, SmtpServer
from muster.nodes.ports import Attachment, Mail, Sent
from stand_ins.mail_server import MailServer, mail_server

EVE = "eve@evil.example"
MAIL = Mail("k", datetime(2026, 11, 15, tzinfo=UTC), to=("ada@example.com",), subject="Hi", text="Hello")
OURS = {"Message-ID", "Date", "From", "To", "Cc", "Reply-To", "Subject", "MIME-Version"}
OF_CONTENT = {"Content-Type", "Content-Transfer-Encoding", "Content-Disposition"}

BREAKS = [
    "\r\n",
    "\n",
    "\r",
    "\n\r",
    "\r\r\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
]
UNICODE = ["嘊", "嘍嘊", "\u010a", "\u010d\u010a", "\ufe55", "\u560a", "\u0a0d", "\u202e", "\u200b", "\ufeff"]
HOSTILE = [
    *(f"x{each}Bcc: {EVE}" for each in BREAKS),
    *(f"x{each}{each}<script>body</script>" for each in BREAKS[:4]),
    *(f"x{each}Bcc: {EVE}" for each in UNICODE),
    "x\\r\\nBcc: " + EVE,
    "x%0d%0aBcc: " + EVE,
    "x%0ABcc:%20" + EVE,
    "x&#13;&#10;Bcc: " + EVE,
    f"=?utf-8?q?x=0D=0ABcc:_{EVE}?=",
    "=?utf-8?b?eA0KQmNjOiBldmVAZXZpbC5leGFtcGxl?=",
    f"=?utf-8?q?x=0ABcc:_{EVE}?= =?utf-8?q?=0D=0A=0D=0Abody?=",
    f"=?utf-7?q?x+AA0ACg-Bcc:_{EVE}?=",
    f"=?unknown-charset?q?x=0D=0ABcc:_{EVE}?=",
    f"=?utf-8?x?x=0D=0ABcc:_{EVE}?=",
    f"=?iso-8859-1?q?=0D=0ABcc:_{EVE}",
    f"=?utf-8?q?=00=0D=0ABcc:_{EVE}?=",
    f"x\0\r\nBcc: {EVE}",
    f"x\r\n.\r\nMAIL FROM:<{EVE}>\r\nRCPT TO:<{EVE}>\r\nDATA\r\n",
    f"x>\r\nRCPT TO:<{EVE}>",
    f'x"\r\nBcc: {EVE}',
    f"x; boundary=y; Bcc: {EVE}",
    "x" * 2_000,
    "x " * 998,
    ("x" * 997 + " ") * 2 + f"Bcc: {EVE}",
    "ü" * 1_999,
    "😀" * 900,
    f"{' ' * 990}\tBcc: {EVE}",
    "\ud800x",
    "",
    " ",
    ":",
    f"Bcc: {EVE}",
]


def in_each_field(hostile: str) -> list[Mail]:
    """The same hostile text wherever a message takes text."""
    file = Attachment(hostile, "text/plain", b"x")
    return [
        replace(MAIL, subject=hostile),
        replace(MAIL, text=hostile),
        replace(MAIL, html=hostile),
        replace(MAIL, sender=hostile),
        replace(MAIL, sender=f"{hostile} <shop@example.org>"),
        replace(MAIL, sender=f'"{hostile}" <shop@example.org>'),
        replace(MAIL, to=(hostile,)),
        replace(MAIL, to=(f"{hostile} <ada@example.com>",)),
        replace(MAIL, to=(f'"{hostile}" <ada@example.com>',)),
        replace(MAIL, to=(f"ada@example.com{hostile}",)),
        replace(MAIL, to=(f"{hostile}@example.com",)),
        replace(MAIL, cc=(f"{hostile} <bob@example.com>",)),
        replace(MAIL, bcc=(f"{hostile} <carol@example.com>",)),
        replace(MAIL, reply_to=(f"{hostile} <help@example.com>",)),
        replace(MAIL, key=hostile),
        replace(MAIL, attachments=(file,)),
        replace(MAIL, attachments=(Attachment("a.txt", hostile, b"x"),)),
        replace(MAIL, attachments=(Attachment("a.txt", "text/plain", hostile.encode(errors="replace")),)),
    ]


def headers_of(content: bytes) -> list[tuple[str, str]]:
    """Every header of a message and its parts, as whoever reads it strictly and whoever reads it kindly
    would find them."""
    found: list[tuple[str, str]] = []
    for reading in (policy.default, policy.compat32):
        for part in message_from_bytes(content, policy=reading).walk():
            found += [(name, str(value)) for name, value in part.items()]
    return found


@pytest.fixture
async def house() -> AsyncIterator[MailServer]:
    async with mail_server() as found:
        yield found


async def test_no_field_makes_a_header_a_recipient_or_a_message_of_its_own(house: MailServer) -> None:
    server = SmtpServer("localhost", house.port, "Muster <muster@house.example>", Security.NONE, per_second=0)
    mailer = SmtpMailer(server)
    tried = sent = 0
    wrong: list[str] = []
    for hostile in HOSTILE:
        for place, mail in enumerate(in_each_field(hostile)):
            tried += 1
            before = len(house.arrived)
            result = await mailer.send(mail)
            if isinstance(result, Failure):
                assert result.type == "BadMessage", (hostile, place, result)
                assert len(house.arrived) == before
                continue
            assert isinstance(result, Sent)
            sent += 1
            (arrived,) = house.arrived[before:]
            names = {name for name, _ in headers_of(arrived.content)}
            raw = arrived.content.partition(b"\r\n\r\n")[0]
            if (
                names - OURS - OF_CONTENT
                or EVE in arrived.recipients
                or len(arrived.recipients) > 2
                or any(len(line) > 998 for line in arrived.content.split(b"\r\n"))
                or b"\n" in arrived.content.replace(b"\r\n", b"")
                or any(line.lower().startswith(b"bcc:") for line in raw.splitlines())
            ):
                wrong.append(f"{hostile!r:.60} in field {place}: {sorted(names)} {arrived.recipients}")
    await mailer.close()
    assert wrong == []
    assert tried == len(HOSTILE) * len(in_each_field("x"))
    assert sent > 100, "else nothing was proved about what is sent"
