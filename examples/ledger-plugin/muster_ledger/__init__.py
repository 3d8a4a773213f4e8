"""A ledger in a file, for Muster workflows: a node that books, a query that reads, an action that closes."""

import json
import os
from pathlib import Path
from threading import Lock

from muster.plugin import Call, Done, Failure, Json, JsonObject, JsonView, NodeKind, NodeType, Registry

_writing = Lock()


def register(registry: Registry) -> None:
    registry.node(BOOK, book)
    registry.query("getLedgerEntries", entries, result_key="ledger")
    registry.action("closeAccount", close_account)


def _say(config: JsonView) -> tuple[str, ...]:
    return (f"Book {config.get('amount')} on the account {config.get('account')}.",)


BOOK = NodeType(
    name="LEDGER_BOOK",
    kind=NodeKind.EFFECT,
    category="Ledger",
    title="Book an amount",
    description="Writes an entry into the ledger.",
    schema={
        "type": "object",
        "properties": {
            "account": {"type": "string", "title": "Account", "minLength": 1},
            "amount": {"type": "number", "title": "Amount"},
        },
        "required": ["account", "amount"],
    },
    examples=({"account": "fees", "amount": 12.5},),
    say=_say,
)


def book(params: JsonObject, call: Call) -> Done | Failure:
    """Not asynchronous, so Muster runs it on a thread. A repeat has the same key, and books nothing."""
    amount = params["amount"]
    if not isinstance(amount, int | float):
        return Failure("BadParameter", "`amount` should be a number")
    entry: JsonObject = {"key": call.key, "account": params["account"], "amount": amount}
    with _writing:
        if all(known["key"] != call.key for known in _entries()):
            with _file().open("a") as file:
                file.write(json.dumps(entry) + "\n")
    return Done({"booked": entry}, {"lastBooked": entry})


async def entries(params: JsonObject, call: Call) -> list[Json]:
    wanted = params.get("account")
    return [entry for entry in _entries() if wanted in (None, entry["account"])]


def close_account(params: JsonObject, call: Call) -> Json | Failure:
    balance = sum(float(entry["amount"]) for entry in _entries() if entry["account"] == params.get("account"))
    if balance:
        return Failure("NotBalanced", "the account is not balanced")
    return {"closed": params.get("account")}


def _file() -> Path:
    return Path(os.environ.get("LEDGER_FILE", "ledger.jsonl"))


def _entries() -> list[dict[str, Json]]:
    return [json.loads(line) for line in _file().read_text().splitlines()] if _file().exists() else []
