"""A workflow that asks the web and writes to people: real engine, real store, real servers."""

import json
from collections.abc import AsyncIterator
from typing import cast

import pytest

from databases import fresh_database
from engine_house import House, Told, chain, node
from muster.engine.handlers import Call, Done, Effect
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.stored import Page
from muster.net.egress import EgressPolicy
from muster.net.http import HttpClient
from muster.net.mail import Security, SmtpMailer, SmtpServer
from muster.net.whatsapp import CapturingWhatsApp
from muster.nodes.ports import Delivery
from muster.nodes.rest_sync import RestSync
from muster.nodes.send_email import SendEmail
from muster.nodes.send_whatsapp import SendWhatsApp
from muster.store.database import Database
from muster.store.deliveries import DeliveryRepository
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.templates import TemplateRepository
from stand_ins.http_site import Asked, Reply, site
from stand_ins.mail_server import mail_server

PEOPLE = {
    "people": [{"name": name, "email": f"{name}@example.com", "phone": "+491511234567"} for name in "xyz"]
}
EACH: JsonObject = {
    "on": "#{body.people}",
    "forEach": {"subject": "Hello #{item.name}", "body": "Hi", "concurrency": 1},
}


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    async with fresh_database("sqlite", None) as url:
        opened = open_database(url)
        await migrate(opened)
        yield opened
        await opened.close()


class Through(Told):
    """Runs each node by the handler that is named like it."""

    def __init__(self, **handlers: Effect) -> None:
        super().__init__()
        self._handlers = handlers

    async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
        return await self._handlers[call.node_id](params, call)


async def recorded(database: Database, execution: str, deliveries: DeliveryRepository) -> list[Delivery]:
    found, _ = await deliveries.list(None, Page(), execution)
    return sorted(found, key=lambda each: (each.channel, each.item_key))


async def test_people_from_the_web_get_their_messages_once(database: Database) -> None:
    answers = [
        Reply(503, {"Retry-After": "0"}),
        Reply(200, {"Content-Type": "application/json"}, json.dumps(PEOPLE).encode()),
    ]

    def answer(_: Asked) -> Reply:
        return answers.pop(0)

    async with site(answer) as web, mail_server() as post:
        post.answers = ["250 taken", "451 later", "250 taken", "250 taken"]
        http = HttpClient(EgressPolicy(loopback=True))
        server = SmtpServer("127.0.0.1", post.port, "muster@house.example", Security.NONE, per_second=0)
        mailer = SmtpMailer(server)
        through = Through()
        house = House(database, through)
        deliveries = DeliveryRepository(database, house.committer)
        through._handlers = {
            "a": RestSync(http),
            "b": SendEmail(mailer, deliveries, http, TemplateRepository(database, house.clock)),
            "c": SendWhatsApp(CapturingWhatsApp(), deliveries),
        }
        retry = {"initialDelay": 0.01}
        fetch = node("a", config={"url": web.url("/people?token=hush"), "timeout": "60s"}, retry=retry)
        texts: JsonObject = {"on": "#{body.people}", "forEach": {"message": "Hi #{item.name}"}}
        await house.define(chain(fetch, node("b", config=EACH, retry=retry), node("c", config=texts)))
        execution = await house.run()
        row = await house.row(execution)
        kept = await recorded(database, execution, deliveries)
        await mailer.close()
        await http.close()
    assert row["status"] == "COMPLETED", row["error_message"]
    keys = [asked.header("idempotency-key") for asked in web.asked]
    assert keys == [f"{execution}:a:1"] * 2, "a repeat is recognisable"
    subjects = [arrived.message["Subject"] for arrived in post.arrived]
    assert sorted(subjects) == ["Hello x", "Hello y", "Hello z"], "what was sent is not sent again"
    assert len({arrived.message["Message-ID"] for arrived in post.arrived}) == 3
    assert [(each.channel, each.status) for each in kept] == [("email", "sent")] * 3 + [
        ("whatsapp", "captured")
    ] * 3
    outputs = cast("dict[str, dict[str, object]]", cast("dict[str, object]", row["state"])["outputs"])
    assert (outputs["b"]["succeeded"], outputs["b"]["failed"]) == (3, 0)


async def test_a_refusal_for_good_fails_the_execution_and_names_the_host_alone(database: Database) -> None:
    async with site(lambda _: Reply(403)) as web:
        http = HttpClient(EgressPolicy(loopback=True))
        house = House(database, Through(a=RestSync(http)))
        secret = {"type": "bearer", "token": "hush-token"}
        await house.define(chain(node("a", config={"url": web.url("/?key=hush-key"), "auth": secret})))
        row = await house.row(await house.run())
        await http.close()
    assert (row["status"], row["error_type"], row["error_message"]) == (
        "FAILED",
        "HTTP_403",
        "127.0.0.1 answered 403",
    )
    assert len(web.asked) == 1
    assert "hush" not in str({name: value for name, value in row.items() if name != "context"})
