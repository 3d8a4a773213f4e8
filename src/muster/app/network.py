"""What reaches outside, by the settings: the web, mail, WhatsApp. What is not configured is captured."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from muster.api.auth.loopback import is_loopback_host
from muster.api.parts import WhatsAppHook
from muster.app.settings import Settings, SmtpSettings, WhatsAppSettings
from muster.engine.handlers import Effect
from muster.net.connect import CheckedHosts
from muster.net.database_hosts import DatabaseHosts
from muster.net.egress import EgressPolicy, parse_networks
from muster.net.http import HttpClient, HttpLimits
from muster.net.mail import CapturingMailer, Security, SmtpMailer, SmtpServer
from muster.net.whatsapp import CapturingWhatsApp, CloudApi, CloudWhatsApp
from muster.nodes.ports import Deliveries, Mailer, MessageTemplates, WhatsApp
from muster.nodes.rest_sync import RestSync
from muster.nodes.send_email import SendEmail
from muster.nodes.send_whatsapp import SendWhatsApp


@asynccontextmanager
async def web_client(settings: Settings) -> AsyncIterator[HttpClient]:
    """What calls other services, while its connections are open."""
    http = _http(settings)
    try:
        yield http
    finally:
        await http.close()


@asynccontextmanager
async def network_effects(
    settings: Settings, http: HttpClient, deliveries: Deliveries, templates: MessageTemplates
) -> AsyncIterator[dict[str, Effect]]:
    """The handlers of the nodes that reach outside, while their connections are open."""
    async with AsyncExitStack() as stack:
        mailer = _mailer(settings.smtp)
        if isinstance(mailer, SmtpMailer):
            stack.push_async_callback(mailer.close)
        yield {
            "REST_SYNC": RestSync(http),
            "SEND_EMAIL": SendEmail(mailer, deliveries, http, templates),
            "SEND_WHATSAPP": SendWhatsApp(_whatsapp(settings.whatsapp, http), deliveries),
        }


def egress_policy(settings: Settings) -> EgressPolicy:
    """A service that listens on this machine only may call this machine; one that others reach may not."""
    return EgressPolicy(is_loopback_host(settings.host), parse_networks(settings.http.allowed_networks))


def database_hosts(settings: Settings) -> DatabaseHosts:
    """Which data sources may be reached: what may be called over HTTP."""
    return DatabaseHosts(CheckedHosts(egress_policy(settings)))


def _http(settings: Settings) -> HttpClient:
    limits = HttpLimits(
        connections=settings.http.connections,
        per_host=settings.http.per_host,
        answer=settings.http.answer_limit,
        connect=settings.http.connect_timeout,
    )
    return HttpClient(egress_policy(settings), limits)


def _mailer(smtp: SmtpSettings) -> Mailer:
    server = smtp_server(smtp)
    return CapturingMailer() if server is None else SmtpMailer(server)


def smtp_server(smtp: SmtpSettings) -> SmtpServer | None:
    """Where mail goes; None: nowhere."""
    if smtp.host is None:
        return None
    return SmtpServer(
        host=smtp.host,
        port=smtp.port,
        sender=smtp.sender,
        security=Security(smtp.security),
        username=smtp.username,
        password=smtp.password.get_secret_value() if smtp.password else None,
        domain=smtp.domain,
        connections=smtp.connections,
        per_second=smtp.rate,
    )


def _whatsapp(whatsapp: WhatsAppSettings, http: HttpClient) -> WhatsApp:
    if whatsapp.phone_number_id is None or whatsapp.token is None:
        return CapturingWhatsApp()
    account = CloudApi(
        phone_number_id=whatsapp.phone_number_id,
        token=whatsapp.token.get_secret_value(),
        base=whatsapp.base_url,
        version=whatsapp.version,
        per_second=whatsapp.rate,
    )
    return CloudWhatsApp(account, http)


def whatsapp_hook(whatsapp: WhatsAppSettings) -> WhatsAppHook:
    token, secret = whatsapp.verify_token, whatsapp.app_secret
    return WhatsAppHook(
        token.get_secret_value() if token else None, secret.get_secret_value() if secret else None
    )
