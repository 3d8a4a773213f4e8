"""The doctor's look at what Muster talks to: Redis, Kafka, a schema registry, a mail server, the issuer."""

import httpx

from muster.app.bus import kafka_of
from muster.app.cache import answers, redis_name
from muster.app.findings import Finding
from muster.app.network import smtp_server, web_client
from muster.app.schemas import http_registry
from muster.app.settings import Settings
from muster.cache.redis import open_redis
from muster.engine.bus import BadClient, BusAway
from muster.net.mail import SmtpMailer
from muster.nodes.message_schemas import SchemaAway
from muster.nodes.resolved import BadParameter
from muster.store.address import without_user

REDIS_SECONDS = 3.0
# Of a subject that nobody has, a registry says which changes it allows in general.
NOBODYS_SUBJECT = "muster-doctor"


async def redis(settings: Settings) -> Finding:
    url = settings.redis.url
    if url is None:
        return Finding("Redis", True, "none: contexts and locks are the database's")
    place = redis_name(url.get_secret_value())
    async with open_redis(url.get_secret_value(), REDIS_SECONDS) as client:
        if await answers(client):
            return Finding("Redis", True, place)
    advice = "Is it running, and is REDIS_URL right? Without it everything goes on, from the database."
    return Finding("Redis", False, f"{place} does not answer", advice)


async def kafka(settings: Settings) -> Finding:
    brokers = settings.kafka.bootstrap_servers
    if not brokers:
        return Finding("Kafka", True, "none: the bus is in the database")
    shown = ",".join(map(without_user, brokers))
    try:
        bus = kafka_of(settings.kafka, settings.instance_id)
    except BadClient as error:
        return Finding("Kafka", False, str(error), "Mend what `kafka.client` says.")
    try:
        await bus.check()
    except BusAway as error:
        advice = "Is it running, and are KAFKA_BOOTSTRAP_SERVERS and `kafka.client` right?"
        return Finding("Kafka", False, f"{shown}: {error}", advice)
    finally:
        await bus.close()
    return Finding("Kafka", True, shown)


async def schema_registry(settings: Settings) -> Finding:
    url = settings.schemas.registry_url
    if url is None:
        return Finding("schema registry", True, "none: nodes name theirs, or have files")
    shown = without_user(url)
    advice = "Is it running, and are `schemas.registry-url`, `registry-user` and `registry-password` right?"
    async with web_client(settings) as web:
        try:
            level = await http_registry(settings.schemas, web).level(url, NOBODYS_SUBJECT)
        except (SchemaAway, BadParameter) as error:
            return Finding("schema registry", False, f"{shown}: {error}", advice)
    return Finding("schema registry", True, f"{shown}, compatibility {level}")


async def mail(settings: Settings) -> Finding:
    server = smtp_server(settings.smtp)
    if server is None:
        return Finding("mail server", True, "none: messages are captured, and not sent")
    place = f"{server.host}:{server.port}"
    failure = await SmtpMailer(server).check()
    if failure is None:
        return Finding("mail server", True, place)
    advice = "Is it running, and are `smtp.host`, `port`, `security`, `username` and `password` right?"
    return Finding("mail server", False, f"{place}: {failure.message}", advice)


async def provider(settings: Settings) -> Finding:
    issuer = settings.oidc.issuer_uri
    if issuer is None:
        return Finding("OpenID provider", True, "none: this machine only, and callers are admin")
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    shown = without_user(address)
    advice = "Is OIDC_ISSUER_URI right, and can this machine reach it?"
    try:
        async with httpx.AsyncClient(timeout=5.0) as http:
            answer = await http.get(address)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # An address that cannot be read is quoted by the library, in pieces that may hold a password.
        said = type(error).__name__ if "@" in address else str(error) or type(error).__name__
        return Finding("OpenID provider", False, f"{shown}: {said}", advice)
    if answer.status_code != 200:
        return Finding("OpenID provider", False, f"{shown} answers {answer.status_code}", advice)
    if not (settings.oidc.audience or settings.oidc.client_id):
        return Finding("OpenID provider", False, "no audience", "Set OIDC_AUDIENCE or OIDC_CLIENT_ID.")
    return Finding("OpenID provider", True, without_user(issuer))
