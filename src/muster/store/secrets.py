"""Secrets: written, listed by name, read by nobody but the server itself."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from muster.engine.state import Failure
from muster.kit.clock import Clock
from muster.model.problems import AuthorError, Problem
from muster.model.registered import SecretEntry
from muster.model.stored import AuditEntry, Page
from muster.model.trigger import Authentication
from muster.nodes.data_ports import NotConfigured
from muster.store.audit import add_audit
from muster.store.database import Database, Unavailable
from muster.store.registry import Kind, Registry
from muster.store.tables import data_source, secret, workflow_trigger
from muster.store.vault import Unreadable, Vault

FRESH_SECONDS = 2.0
KEY_MISSING = (
    "Secrets are kept encrypted, and there is no key to do so: set MUSTER_SECRET_KEY to 32 random bytes in "
    "Base64 (`openssl rand -base64 32`), and start again."
)


def needed(vault: Vault | None) -> Vault:
    """Raises `NotConfigured` with the sentence that says what to set."""
    if vault is None:
        raise NotConfigured(KEY_MISSING)
    return vault


def _entry(row: Row[Any]) -> SecretEntry:
    return SecretEntry(row.name, row.institute_id, row.created_at, row.updated_at)


SECRETS = Kind(secret, "name", _entry, lambda values: Problem("UNSTORABLE", "", "It cannot be stored."))


class SecretRepository:
    """`vault` None: there is no key, so nothing can be written or read."""

    def __init__(self, database: Database, clock: Clock, vault: Vault | None) -> None:
        self._database, self._clock, self._vault = database, clock, vault
        self._registry = Registry(database, clock, SECRETS)

    async def create(self, institute_id: str, name: str, value: str, audit: AuditEntry) -> SecretEntry:
        """Raises `Taken`, `NotConfigured`."""
        return await self._registry.create(self._row(institute_id, name, value), audit)

    async def put(self, institute_id: str, name: str, value: str, audit: AuditEntry) -> SecretEntry:
        """Give it a new value, or make it. Raises `NotConfigured`."""
        row = self._row(institute_id, name, value)
        here = [secret.c.institute_id == institute_id, secret.c.name == name]
        changed = update(secret).where(*here).values(value=row["value"], updated_at=row["updated_at"])

        def work(connection: Connection) -> SecretEntry:
            if connection.execute(changed).rowcount == 0:
                connection.execute(insert(secret).values(row))
            add_audit(connection, audit, self._clock.now())
            return _entry(connection.execute(select(secret).where(*here)).one())

        return await self._database.write(work)

    async def delete(self, institute_id: str | None, name: str, audit: AuditEntry) -> bool:
        """Raises `InUse` while a data source's password is this one."""
        return await self._registry.delete(institute_id, name, audit)

    async def get(self, institute_id: str | None, name: str) -> SecretEntry | None:
        return await self._registry.get(institute_id, name)

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[SecretEntry], str | None]:
        return await self._registry.list(institute_id, page)

    async def reveal(self, institute_id: str) -> dict[str, str]:
        """An institute's secrets with their values: for the server's own use. Raises `Unreadable`."""
        wanted = select(secret).where(secret.c.institute_id == institute_id)
        rows = await self._database.read(lambda connection: connection.execute(wanted).all())
        return {row.name: self._value(row) for row in rows}

    async def encrypt_anew(self) -> int:
        """Bring whatever an older key has encrypted under the newest, and say how many that were: then the
        older ones can go. Raises `NotConfigured`, `Unreadable`."""
        vault = needed(self._vault)
        return await self._database.write(lambda connection: _encrypt_anew(connection, vault))

    def _row(self, institute_id: str, name: str, value: str) -> dict[str, object]:
        now = self._clock.now()
        if not value:
            raise AuthorError(Problem("INVALID_VALUE", "/value", "An empty secret is none."))
        sealed = needed(self._vault).seal(value, *place(institute_id, name))
        return {
            "institute_id": institute_id,
            "name": name,
            "value": sealed,
            "created_at": now,
            "updated_at": now,
        }

    def _value(self, row: Row[Any]) -> str:
        return needed(self._vault).unseal(row.value, *place(row.institute_id, row.name))


class RevealedSecrets:
    """`engine.masking.Secrets`. A change may go unnoticed for a moment."""

    def __init__(self, secrets: SecretRepository, clock: Clock) -> None:
        self._secrets, self._clock = secrets, clock
        self._kept: dict[str, tuple[datetime, Mapping[str, str]]] = {}

    async def of(self, institute_id: str) -> Mapping[str, str] | Failure:
        now = self._clock.now()
        looked_at, found = self._kept.get(institute_id, (None, {}))
        if looked_at is not None and (now - looked_at).total_seconds() < FRESH_SECONDS:
            return found
        try:
            found = await self._secrets.reveal(institute_id)
        except (Unreadable, NotConfigured) as error:
            return Failure("UnreadableSecrets", f"the institute's secrets cannot be read: {error}")
        except Unavailable as error:
            return Failure("SecretsUnavailable", f"the secrets cannot be read now: {error}", retryable=True)
        self._kept[institute_id] = (now, found)
        return found


def place(institute_id: str, name: str) -> tuple[str, ...]:
    """What a secret's value is encrypted for."""
    return ("secret", institute_id, name)


def password_place(institute_id: str, key: str) -> tuple[str, ...]:
    """What a data source's password is encrypted for."""
    return ("data_source", institute_id, key)


def trigger_place(institute_id: str, trigger_id: str) -> tuple[str, ...]:
    """What a trigger's secrets are encrypted for."""
    return ("workflow_trigger", institute_id, trigger_id)


def _encrypt_anew(connection: Connection, vault: Vault) -> int:
    changed = 0
    for row in connection.execute(select(secret).with_for_update()).all():
        if not vault.is_newest(row.value):
            where = place(row.institute_id, row.name)
            here = [secret.c.institute_id == row.institute_id, secret.c.name == row.name]
            sealed = vault.seal(vault.unseal(row.value, *where), *where)
            changed += connection.execute(update(secret).where(*here).values(value=sealed)).rowcount
    protected = select(data_source).where(data_source.c.password.is_not(None)).with_for_update()
    for row in connection.execute(protected).all():
        if not vault.is_newest(row.password):
            where = password_place(row.institute_id, row.key)
            here = [data_source.c.institute_id == row.institute_id, data_source.c.key == row.key]
            sealed = vault.seal(vault.unseal(row.password, *where), *where)
            changed += connection.execute(update(data_source).where(*here).values(password=sealed)).rowcount
    return changed + _encrypt_triggers_anew(connection, vault)


def _encrypt_triggers_anew(connection: Connection, vault: Vault) -> int:
    changed = 0
    signed = workflow_trigger.c.authentication == Authentication.HMAC.value
    for row in connection.execute(select(workflow_trigger).where(signed).with_for_update()).all():
        if not all(vault.is_newest(secret["sealed"]) for secret in row.secrets):
            where = trigger_place(row.institute_id, row.id)
            anew = [
                secret | {"sealed": vault.seal(vault.unseal(secret["sealed"], *where), *where)}
                for secret in row.secrets
            ]
            here = workflow_trigger.c.id == row.id
            changed += connection.execute(update(workflow_trigger).where(here).values(secrets=anew)).rowcount
    return changed
