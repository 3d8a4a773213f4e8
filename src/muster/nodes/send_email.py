"""SEND_EMAIL: one message, or one for each item."""

from muster.definitions.steps.words import quoted, shown
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import JsonObject, JsonView
from muster.nodes.mail_of import Fetching, mail_of
from muster.nodes.parts import closed, fields, text, texts
from muster.nodes.ports import Channel, Deliveries, Http, Mail, Mailer, MessageTemplates
from muster.nodes.sending import Outgoing, Wording, deliver, sending_type
from muster.nodes.stored_message import with_template

_BODY: JsonObject = {
    "to": {**texts("To", "One address, or a list.", "#{item.email}"), "default": "#{item.email}"},
    "subject": text("Subject", "", "Welcome to #{item.courseName}"),
    "body": text("Text", "The message as plain text."),
    "html": text("HTML", "The message as HTML, beside the text or instead of it."),
    "cc": texts("Copy to"),
    "bcc": texts("Blind copy to"),
    "from": text("From", "The sender, if it is not the configured one."),
    "replyTo": texts("Reply to"),
    "attachments": {
        "type": "array",
        "title": "Attachments",
        "items": closed(
            {
                "filename": text("File name"),
                "content": text("Content", "Text, or Base64 with `encoding`."),
                "encoding": text("Encoding", "", "base64"),
                "contentType": text("Media type", "", "application/pdf"),
                "url": text("Address", "Where to fetch it instead."),
            },
            "filename",
        ),
    },
    "template": {
        "type": ["string", "object"],
        "title": "Template",
        "description": "A stored message, by name, or with the variables that it needs.",
    },
    "variables": fields("Template variables"),
}
_EXAMPLE: JsonObject = {
    "on": "#{newEnrollments}",
    "forEach": {"subject": "Welcome to #{item.courseName}", "body": "Your enrollment is confirmed."},
}


def say(config: JsonView) -> tuple[str, ...]:
    subject = f" “{quoted(config['subject'])}”" if config.get("subject") else ""
    return (f"Send an e-mail{subject} to {shown(config.get('to', '#{item.email}'))}.",)


TYPE = sending_type(
    Wording(
        name="SEND_EMAIL",
        title="Send e-mail",
        description="Sends an e-mail, or one for each item of a list.",
        content=("subject", "body", "html", "template"),
        lacking="A message needs a `subject`, a `body`, `html` or a `template`.",
        reached_by="email",
    ),
    _BODY,
    _EXAMPLE,
    say,
)


class SendEmail:
    """Writes the message, hands it to the mailer, and keeps a record of what became of it."""

    def __init__(
        self, mailer: Mailer, deliveries: Deliveries, http: Http, templates: MessageTemplates
    ) -> None:
        self._mailer, self._deliveries, self._templates = mailer, deliveries, templates
        self._fetching = Fetching(http)

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        return await deliver(call, self._deliveries, lambda: self._written(params, call))

    async def _written(self, params: JsonObject, call: Call) -> Outgoing | Failure:
        whole = await with_template(params, call, self._templates)
        mail = await mail_of(whole, call, self._fetching)
        if isinstance(mail, Failure):
            return mail
        people = ", ".join((*mail.to, *mail.cc, *mail.bcc))
        return Outgoing(
            lambda: self._mailer.send(mail), Channel.EMAIL, people, mail.subject, _shown_body(mail)
        )


def _shown_body(mail: Mail) -> str:
    return mail.text if mail.text is not None else mail.html or ""
