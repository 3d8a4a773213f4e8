"""Mail through a real SMTP server: in the clear, by STARTTLS, by TLS, with a login, in good times and bad."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from muster.engine.state import Failure
from muster.net.mail import CapturingMailer, Security, SmtpMailer, SmtpServer
from muster.nodes.ports import Attachment, Mail, Sent
from stand_ins.certificates import client_tls, server_tls
from stand_ins.mail_server import MailServer, mail_server

MAIL = Mail(
    key="e1:welcome:1:ada",
    at=datetime(2026, 11, 15, 12, 30, tzinfo=UTC),
    to=("Ada <ada@example.com>",),
    subject="Grüße",
    text="Hi\n.\n..two dots",
    html="<p>Hi</p>",
    bcc=("eve@example.com",),
)


@asynccontextmanager
async def mailer(
    house: MailServer, security: Security = Security.NONE, **more: object
) -> AsyncIterator[SmtpMailer]:
    settings = {"per_second": 0, "seconds": 60.0, "tls": client_tls(), **more}
    server = SmtpServer("localhost", house.port, "Muster <muster@house.example>", security, **settings)  # type: ignore[arg-type]  # by name
    made = SmtpMailer(server)
    try:
        yield made
    finally:
        await made.close()


async def failed(made: SmtpMailer, mail: Mail = MAIL) -> Failure:
    result = await made.send(mail)
    assert isinstance(result, Failure), result
    return result


async def sent(made: SmtpMailer, mail: Mail = MAIL) -> Sent:
    result = await made.send(mail)
    assert isinstance(result, Sent), result
    return result


async def test_a_message_arrives_whole_and_blind_copies_stay_blind() -> None:
    async with mail_server() as house, mailer(house) as made:
        result = await sent(made)
    (arrived,) = house.arrived
    assert arrived.sender == "muster@house.example"
    assert arrived.recipients == ["ada@example.com", "eve@example.com"]
    assert b"eve" not in arrived.content
    message = arrived.message
    assert (message["Subject"], message["Message-ID"]) == ("Grüße", result.provider_id)
    text = message.get_body(("plain",))
    assert text is not None
    assert text.get_content().splitlines() == ["Hi", ".", "..two dots"]


async def test_a_large_attachment_arrives_byte_for_byte() -> None:
    content = bytes(range(256)) * 4_096
    mail = replace(MAIL, attachments=(Attachment("a.bin", "application/octet-stream", content),))
    async with mail_server() as house, mailer(house) as made:
        await sent(made, mail)
    (part,) = house.arrived[0].message.iter_attachments()
    assert part.get_payload(decode=True) == content


async def test_starttls_is_insisted_on() -> None:
    async with mail_server(starttls=server_tls()) as house, mailer(house, Security.STARTTLS) as made:
        await sent(made)
        assert house.arrived[0].encrypted
    async with mail_server() as plain, mailer(plain, Security.STARTTLS) as made:
        failure = await failed(made)
    assert (failure.type, failure.retryable) == ("MailSecurity", False)
    assert plain.arrived == []


async def test_tls_from_the_first_byte() -> None:
    async with mail_server(tls=server_tls()) as house, mailer(house, Security.TLS) as made:
        await sent(made)
    assert len(house.arrived) == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with (
        mail_server(starttls=server_tls()) as house,
        mailer(house, Security.STARTTLS, tls=None) as made,
    ):
        failure = await failed(made)
    assert (failure.type, failure.retryable) == ("BadCertificate", False)
    assert house.arrived == []


async def test_a_login_is_made_over_tls() -> None:
    async with mail_server(starttls=server_tls(), login=True) as house:
        async with mailer(house, Security.STARTTLS, username="ada", password="pass word") as made:
            await sent(made)
            await sent(made, replace(MAIL, key="other"))
        assert house.logins == [("ada", "pass word")], "once for a connection"
        async with mailer(house, Security.STARTTLS, username="ada", password="wrong-secret") as made:
            failure = await failed(made)
    assert (failure.type, failure.retryable) == ("MailLogin", False)
    assert "wrong-secret" not in failure.message


async def test_a_password_shows_in_no_print() -> None:
    assert "hush" not in repr(SmtpServer("h", 25, "a@b.de", username="ada", password="hush"))


@pytest.mark.parametrize(
    ("answer", "retryable"),
    [
        ("550 5.7.1 spam", False),
        ("554 no", False),
        ("451 4.3.0 later", True),
        ("452 full", True),
        ("421 bye", True),
    ],
)
async def test_a_message_refused_for_good_is_not_tried_again(answer: str, retryable: bool) -> None:
    async with mail_server() as house, mailer(house) as made:
        house.answers = [answer]
        failure = await failed(made)
        assert (failure.type, failure.retryable) == ("MailRefused", retryable)
        assert answer in failure.message
        await sent(made)
    assert len(house.arrived) == 1


@pytest.mark.parametrize(("answer", "retryable"), [("550 unknown sender", False), ("450 later", True)])
async def test_a_sender_may_be_refused(answer: str, retryable: bool) -> None:
    async with mail_server() as house, mailer(house) as made:
        house.sender_answer = answer
        failure = await failed(made)
    assert (failure.type, failure.retryable) == ("MailRefused", retryable)


@pytest.mark.parametrize(
    ("answers", "retryable"),
    [(("550 no", "550 no"), False), (("450 later", "550 no"), True), (("451 later", "451 later"), True)],
)
async def test_when_nobody_is_taken_it_may_pass_if_one_was_put_off(
    answers: tuple[str, str], retryable: bool
) -> None:
    async with mail_server() as house, mailer(house) as made:
        house.refuses = {"ada@example.com": answers[0], "eve@example.com": answers[1]}
        failure = await failed(made)
    assert (failure.type, failure.retryable) == ("RecipientsRefused", retryable)
    assert "ada@example.com" in failure.message


async def test_a_recipient_that_is_refused_is_told_and_the_others_get_theirs() -> None:
    async with mail_server() as house, mailer(house) as made:
        house.refuses = {"eve@example.com": "550 no such user"}
        result = await sent(made)
    assert result.refused == (("eve@example.com", "550 no such user"),)
    assert house.arrived[0].recipients == ["ada@example.com"]


async def test_a_connection_that_drops_in_the_middle_of_a_message_may_pass() -> None:
    async with mail_server() as house, mailer(house) as made:
        house.hangs_up_in_data = 1
        failure = await failed(made)
        assert (failure.type, failure.retryable) == ("NetworkError", True)
        await sent(made)
    assert house.connections == 2


async def test_a_server_that_is_not_there_may_pass() -> None:
    async with mail_server() as house:
        pass
    async with mailer(house) as made:
        failure = await failed(made)
    assert (failure.type, failure.retryable) == ("NetworkError", True)


async def test_connections_are_shared_and_never_more_than_allowed() -> None:
    async with mail_server() as house, mailer(house, connections=3) as made:
        results = await asyncio.gather(*(sent(made, replace(MAIL, key=f"k{n}")) for n in range(40)))
    assert len({result.provider_id for result in results}) == 40
    assert len(house.arrived) == 40
    assert house.most_open <= 3
    assert house.connections <= 3


async def test_a_kept_connection_that_the_server_has_ended_is_replaced() -> None:
    async with mail_server() as house, mailer(house) as made:
        await sent(made)
        house.hang_up()
        for _ in range(10):
            await asyncio.sleep(0.01)  # the end reaches this side in the loop's next turns
        await sent(made, replace(MAIL, key="other"))
    assert (len(house.arrived), house.connections) == (2, 2)


async def test_so_many_a_second_and_no_more() -> None:
    start = asyncio.get_running_loop().time()
    async with mail_server() as house, mailer(house, per_second=50) as made:
        await asyncio.gather(*(sent(made, replace(MAIL, key=f"k{n}")) for n in range(11)))
    times = sorted(arrived.at - start for arrived in house.arrived)
    assert all(time >= place / 50 for place, time in enumerate(times)), "none before its turn"


async def test_a_message_that_cannot_be_written_reaches_no_server() -> None:
    async with mail_server() as house, mailer(house) as made:
        failure = await failed(made, replace(MAIL, subject="a\r\nBcc: eve@example.com"))
    assert (failure.type, failure.retryable, house.connections) == ("BadMessage", False, 0)


async def test_whoever_is_cancelled_in_the_middle_leaves_no_connection_half_used() -> None:
    async with mail_server() as house, mailer(house, connections=1) as made:
        house.holds = asyncio.Event()
        first = asyncio.create_task(made.send(MAIL))
        await house.holding.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        house.holds = None
        await sent(made, replace(MAIL, key="other"))
    assert house.connections == 2
    assert len(house.arrived) == 1


async def test_without_a_server_messages_are_checked_and_captured() -> None:
    capturing = CapturingMailer()
    kept = await capturing.send(MAIL)
    assert isinstance(kept, Sent)
    assert kept.captured
    bad = await capturing.send(replace(MAIL, to=("nobody",)))
    assert isinstance(bad, Failure)
