"""SEND_EMAIL: parameters to message, and what became of it on record."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.expr import Scope
from muster.model.json import Json, JsonObject
from muster.model.stored import NodeTemplate
from muster.net.mail import CapturingMailer
from muster.nodes.ports import Delivery, DeliveryStatus, HttpAnswer, HttpRequest, Mail, Sent
from muster.nodes.send_email import SendEmail

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)


class House:
    """The handler with everything around it under the test's hand."""

    def __init__(self, *results: Sent | Failure) -> None:
        self.results = list(results)
        self.mails: list[Mail] = []
        self.kept: list[Delivery] = []
        self.files: dict[str, HttpAnswer | Failure] = {}
        self.stored: dict[tuple[str, str], JsonObject] = {}

    async def email(self, item: Json = None, **params: Json) -> Done | Failure:
        call = Call("e1", "w1", "north", "welcome", 1, 1, Scope({"item": item, "shop": "Muster"}, NOW), "ada")
        return await SendEmail(_Mailer(self), _Record(self), _Web(self), _Templates(self))(params, call)

    async def fails(self, **params: Json) -> Failure:
        outcome = await self.email(**params)
        assert isinstance(outcome, Failure), outcome
        return outcome


class _Part:
    def __init__(self, house: House) -> None:
        self.house = house


class _Mailer(_Part):
    async def send(self, mail: Mail) -> Sent | Failure:
        self.house.mails.append(mail)
        return self.house.results.pop(0) if self.house.results else Sent("<1@x>")


class _Record(_Part):
    async def record(self, delivery: Delivery) -> None:
        self.house.kept.append(delivery)


class _Web(_Part):
    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        return self.house.files[request.url]


class _Templates(_Part):
    async def find(self, institute_id: str, template_ids: Sequence[str]) -> dict[str, NodeTemplate]:
        stored = self.house.stored
        return {
            name: NodeTemplate(name, name, "SEND_EMAIL", stored[institute_id, name])
            for name in template_ids
            if (institute_id, name) in stored
        }


async def test_every_parameter_reaches_the_message() -> None:
    house = House()
    outcome = await house.email(
        to=["ada@x.de", "bob@x.de"],
        subject="Hi",
        body="text",
        html="<p>",
        cc="c@x.de",
        bcc=["d@x.de"],
        replyTo="r@x.de",
        attachments=[
            {"filename": "a.txt", "content": "grün"},
            {"filename": "b.pdf", "content": b64encode(b"%PDF").decode(), "encoding": "base64"},
        ],
        **{"from": "s@x.de"},
    )
    (mail,) = house.mails
    assert (mail.key, mail.at, mail.to) == ("e1:welcome:1:ada", NOW, ("ada@x.de", "bob@x.de"))
    assert (mail.subject, mail.text, mail.html, mail.sender) == ("Hi", "text", "<p>", "s@x.de")
    assert (mail.cc, mail.bcc, mail.reply_to) == (("c@x.de",), ("d@x.de",), ("r@x.de",))
    found = [(each.filename, each.content_type, each.content) for each in mail.attachments]
    assert found == [("a.txt", "text/plain", "grün".encode()), ("b.pdf", "application/octet-stream", b"%PDF")]
    assert outcome == Done(
        {"messageId": "<1@x>", "status": "sent", "to": "ada@x.de, bob@x.de, c@x.de, d@x.de"}
    )


async def test_without_to_it_goes_to_the_items_address() -> None:
    house = House()
    await house.email({"email": "ada@x.de"}, subject="Hi")
    assert house.mails[0].to == ("ada@x.de",)


@pytest.mark.parametrize("item", [None, {}, {"email": ""}, {"email": None}, "ada", [1]])
async def test_without_any_address_it_fails_in_a_sentence(item: Json) -> None:
    house = House()
    assert await house.email(item, subject="Hi") == Failure(
        "BadParameter", "`to` is empty, and the item has no `email`"
    )
    assert house.mails == house.kept == []


async def test_what_was_sent_is_on_record() -> None:
    house = House()
    await house.email(to="ada@x.de", subject="Hi", body="text")
    (kept,) = house.kept
    assert (kept.execution_id, kept.node_id, kept.item_key, kept.institute_id) == (
        "e1",
        "welcome",
        "ada",
        "north",
    )
    assert (kept.recipient, kept.subject, kept.body) == ("ada@x.de", "Hi", "text")
    assert (kept.status, kept.provider_id, kept.sent_at) == (DeliveryStatus.SENT, "<1@x>", NOW)


async def test_what_failed_is_on_record_too_and_may_be_tried_again() -> None:
    trouble = Failure("MailRefused", "mail.example refuses the message: 451 later", retryable=True)
    house = House(trouble)
    assert await house.fails(to="ada@x.de", html="<p>") == trouble
    (kept,) = house.kept
    assert (kept.status, kept.error, kept.sent_at) == (DeliveryStatus.FAILED, trouble.message, None)
    assert (kept.body, kept.provider_id) == ("<p>", None)


async def test_a_recipient_that_was_refused_is_told_and_warned_of() -> None:
    house = House(Sent("<1@x>", refused=(("bob@x.de", "550 no"),)))
    outcome = await house.email(to="ada@x.de, bob@x.de", subject="Hi")
    assert isinstance(outcome, Done)
    assert isinstance(outcome.output, dict)
    assert outcome.output["refused"] == [{"recipient": "bob@x.de", "reason": "550 no"}]
    assert outcome.warnings == ("bob@x.de was refused: 550 no",)
    assert house.kept[0].error == "bob@x.de: 550 no"


async def test_without_a_server_it_is_captured() -> None:
    house = House()
    call = Call("e1", "w1", "", "welcome", 1, 1, Scope({}, NOW))
    handler = SendEmail(CapturingMailer(), _Record(house), _Web(house), _Templates(house))
    outcome = await handler({"to": "ada@x.de", "subject": "Hi", "body": "text"}, call)
    assert isinstance(outcome, Done)
    assert isinstance(outcome.output, dict)
    assert outcome.output["status"] == "captured"
    assert (house.kept[0].status, house.kept[0].sent_at) == (DeliveryStatus.CAPTURED, None)


async def test_a_message_refused_for_what_it_holds_is_on_record_all_the_same() -> None:
    house = House()
    call = Call("e1", "w1", "", "welcome", 1, 1, Scope({}, NOW))
    handler = SendEmail(CapturingMailer(), _Record(house), _Web(house), _Templates(house))
    outcome = await handler({"to": "ada@x.de", "subject": "Hi\r\nBcc: e@x.de", "body": "a\0\ud800"}, call)
    assert isinstance(outcome, Failure)
    assert outcome.message == "`subject` holds a line break or another control character"
    assert house.kept[0].body == "a\ufffd?"


async def test_a_stored_message_is_filled_in_and_what_the_node_says_comes_first() -> None:
    house = House()
    house.stored["north", "welcome"] = {
        "subject": "Hi #{name}",
        "body": "#{shop}: #{n} #{item.x}",
        "html": "-",
    }
    template: Json = {"name": "welcome", "variables": {"n": 2}}
    await house.email({"email": "a@x.de", "x": 9}, template=template, variables={"name": "Ada"}, html="<p>")
    (mail,) = house.mails
    assert (mail.subject, mail.text, mail.html) == ("Hi Ada", "Muster: 2 9", "<p>")
    await house.email({"email": "a@x.de", "x": 1}, template="welcome", variables={"name": "B", "n": 1})
    assert house.mails[1].html == "-"


async def test_a_stored_message_of_another_tenant_is_not_there() -> None:
    house = House()
    house.stored["south", "welcome"] = {"subject": "Hi"}
    failure = await house.fails(to="a@x.de", template="welcome")
    assert failure == Failure("BadParameter", "`template`: there is no stored message `welcome`")


async def test_an_attachment_is_fetched_from_its_address() -> None:
    house = House()
    kind = (("content-type", "application/pdf; q=1"),)
    house.files["https://x.de/a"] = HttpAnswer(200, kind, b"%PDF", "x.de")
    await house.email(to="a@x.de", subject="Hi", attachments=[{"filename": "a.pdf", "url": "https://x.de/a"}])
    (file,) = house.mails[0].attachments
    assert (file.filename, file.content_type, file.content) == ("a.pdf", "application/pdf", b"%PDF")


@pytest.mark.parametrize(
    ("answer", "retryable"),
    [
        (Failure("EgressRefused", "x.de may not be called"), False),
        (Failure("Timeout", "x.de", retryable=True), True),
        (HttpAnswer(404, (), b"", "x.de"), False),
        (HttpAnswer(503, (), b"", "x.de"), True),
    ],
)
async def test_an_attachment_that_cannot_be_fetched_fails_the_message(
    answer: HttpAnswer | Failure, retryable: bool
) -> None:
    house = House()
    house.files["https://x.de/a"] = answer
    files: Json = [{"filename": "a.pdf", "url": "https://x.de/a"}]
    failure = await house.fails(to="a@x.de", subject="Hi", attachments=files)
    assert failure.retryable == retryable
    assert "x.de" in failure.message
    assert house.mails == []


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"to": {"a": 1}}, "`to`"),
        ({"to": [["a@x.de"]]}, "`to`"),
        ({"subject": ["a"]}, "`subject`"),
        ({"body": {"a": 1}}, "`body`"),
        ({"attachments": ["a"]}, "`attachments`"),
        ({"attachments": [{}]}, "`filename`"),
        ({"attachments": [{"filename": "a", "content": "!!", "encoding": "base64"}]}, "Base64"),
        ({"attachments": [{"filename": "a", "content": "x", "encoding": "rot13"}]}, "`encoding`"),
        ({"attachments": [{"filename": "a"}] * 21}, "21 attachments"),
        ({"attachments": [{"filename": "a", "content": "x" * 20_971_521}]}, "20,971,520 bytes"),
        ({"template": 7}, "stored message"),
        ({"template": {"variables": {}}}, "stored message"),
        ({"template": {"name": "x", "variables": [1]}}, "stored message"),
    ],
)
async def test_a_parameter_that_cannot_be_used_is_named(params: JsonObject, named: str) -> None:
    house = House()
    failure = await house.fails(**{"to": "a@x.de", "subject": "Hi", **params})
    assert (failure.type, failure.retryable) == ("BadParameter", False)
    assert named in failure.message
    assert house.mails == []


@pytest.mark.parametrize(
    ("value", "shown"), [(3.0, "3"), (2.5, "2.5"), (True, "true"), (7, "7"), (1e21, "1e+21"), (None, "")]
)
async def test_a_number_reads_as_it_does_within_a_template(value: Json, shown: str) -> None:
    house = House()
    await house.email(to="ada@x.de", subject=value, body="x")
    assert house.mails[0].subject == shown


async def test_a_number_that_is_too_long_to_write_is_the_authors_mistake() -> None:
    failure = await House().fails(to="ada@x.de", subject=10**100_000, body="x")
    assert failure.type == "BadParameter"
    assert "`subject`" in failure.message
