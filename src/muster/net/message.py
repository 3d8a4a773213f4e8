"""E-mail as it goes over the wire, made of parts that were checked: no value can become a header."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

from muster.nodes.ports import Attachment, Mail

LONGEST_SUBJECT = 2_000
# A line has 998 characters at most, and is folded where there is a space.
LONGEST_WORD = 900
MOST_RECIPIENTS = 100
# Seven bits reach every server, whatever it offers.
WIRE = SMTP.clone(cte_type="7bit")
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\u2028\u2029\ud800-\udfff]")
# The library reads these as what they encode, which may be a line break.
_ENCODED_WORD = re.compile(r"=\?.*\?=", re.DOTALL)
_NAMES = ("Message-ID", "Date", "From", "To", "Cc", "Reply-To", "Subject", "MIME-Version", "Content-")
_HEADER = re.compile(
    rb"[ \t]|(?:" + b"|".join(name.encode() for name in _NAMES) + rb")[\w-]*:", re.IGNORECASE
)
_MEDIA_TYPE = re.compile(r"([A-Za-z0-9!#$&^_.+-]{1,64})/([A-Za-z0-9!#$&^_.+-]{1,64})")
_PIECE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,;"<])+')


class BadMail(ValueError):
    """The message cannot be sent as it is; the message says why."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message and its envelope."""

    message_id: str
    sender: str
    recipients: tuple[str, ...]
    content: bytes


def message_id_of(key: str, domain: str) -> str:
    """The same for every repeat of an effect, so that a mailbox can recognise it."""
    return f"<{hashlib.sha256(key.encode(errors='replace')).hexdigest()[:40]}@{domain}>"


def write_letter(mail: Mail, default_sender: str, domain: str | None, most_bytes: int) -> Letter:
    """The message in its final form. Raises `BadMail`. Blind copies are on the envelope alone."""
    sender = parse_address(mail.sender or default_sender, "from")
    to, cc, bcc = (
        addresses(part, name) for part, name in ((mail.to, "to"), (mail.cc, "cc"), (mail.bcc, "bcc"))
    )
    recipients = tuple(dict.fromkeys(each.addr_spec for each in (*to, *cc, *bcc)))
    if not 1 <= len(recipients) <= MOST_RECIPIENTS:
        raise BadMail(
            f"a message goes to between 1 and {MOST_RECIPIENTS} recipients; this has {len(recipients)}"
        )
    message = EmailMessage(policy=WIRE)
    message_id = message_id_of(mail.key, domain or sender.domain)
    message["Message-ID"] = message_id
    message["Date"] = mail.at
    message["From"] = sender
    for name, people in (("To", to), ("Cc", cc), ("Reply-To", addresses(mail.reply_to, "replyTo"))):
        if people:
            message[name] = people
    message["Subject"] = _subject(mail.subject)
    _fill(message, mail)
    content = message.as_bytes()
    check_headers(content)
    if len(content) > most_bytes:
        raise BadMail(f"the message has {len(content):,} bytes; {most_bytes:,} are allowed")
    return Letter(message_id, sender.addr_spec, recipients, content)


def addresses(texts: Iterable[str], field: str) -> tuple[Address, ...]:
    """The addresses in some texts, each of which may hold several with commas between. Raises `BadMail`."""
    pieces = [piece.strip() for text in texts for piece in _split(text, field)]
    return tuple(parse_address(piece, field) for piece in pieces if piece)


def _split(text: str, field: str) -> list[str]:
    _check_line(text, field)
    if _PIECE.sub("", text).strip(",; "):
        raise _no_address(text, field)
    return [found[0] for found in _PIECE.finditer(text)]


def parse_address(text: str, field: str) -> Address:
    """`ada@example.com` or `Ada Lovelace <ada@example.com>`. Raises `BadMail`."""
    _check_line(text, field)
    _check_words(text, field)
    name, spec = "", text.strip()
    if spec.endswith(">") and "<" in spec:
        name, _, spec = spec[:-1].rpartition("<")
    local, _, domain = spec.strip().rpartition("@")
    if len(local) > 64 or _LOCAL.fullmatch(local) is None:
        raise _no_address(text, field)
    return Address(_unquoted(name.strip()), local, _domain(domain, text, field))


def _domain(domain: str, text: str, field: str) -> str:
    try:
        plain = domain if domain.isascii() else domain.encode("idna").decode("ascii")
    except UnicodeError:
        plain = ""
    if _DOMAIN.fullmatch(plain) is None:
        raise _no_address(text, field)
    return plain


def _unquoted(name: str) -> str:
    if len(name) >= 2 and name.startswith('"') and name.endswith('"'):
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def _subject(text: str) -> str:
    _check_line(text, "subject")
    _check_words(text, "subject")
    if len(text) > LONGEST_SUBJECT:
        raise BadMail(f"`subject` has {len(text):,} characters; {LONGEST_SUBJECT:,} are allowed")
    return text


def _no_address(text: str, field: str) -> BadMail:
    return BadMail(f"`{field}`: `{text[:100]}` is no e-mail address")


def _check_line(text: str, field: str) -> None:
    """Whether a text can be part of a header, and nothing but that text."""
    if _BREAKS.search(text):
        raise BadMail(f"`{field}` holds a line break or another control character")
    if _ENCODED_WORD.search(text):
        raise BadMail(f"`{field}` holds an encoded word (`=?…?=`): write what it stands for")


def _check_words(text: str, field: str) -> None:
    if any(len(word) > LONGEST_WORD and word.isascii() for word in text.split()):
        raise BadMail(f"`{field}` holds a word of more than {LONGEST_WORD} characters")


def check_headers(content: bytes) -> None:
    """That no line is a header but those that were meant: whatever else was looked at, this is what goes."""
    head = content.partition(b"\r\n\r\n")[0]
    if any(_HEADER.match(line) is None for line in head.splitlines()):
        raise BadMail("the message would have a header of its own")


def _fill(message: EmailMessage, mail: Mail) -> None:
    _check_body(mail.text, "body")
    _check_body(mail.html, "html")
    if mail.html is None:
        message.set_content(mail.text or "")
    elif mail.text is None:
        message.set_content(mail.html, subtype="html")
    else:
        message.set_content(mail.text)
        message.add_alternative(mail.html, subtype="html")
    for attachment in mail.attachments:
        _attach(message, attachment)


def _check_body(text: str | None, field: str) -> None:
    if text is not None and re.search(r"[\x00\ud800-\udfff]", text):
        raise BadMail(f"`{field}` holds a character that no message can: NUL, or half of a pair")


def _attach(message: EmailMessage, attachment: Attachment) -> None:
    _check_line(attachment.filename or "\0", "attachments.filename")
    kind = _MEDIA_TYPE.fullmatch(attachment.content_type)
    if kind is None or kind[1].lower() in ("multipart", "message"):
        raise BadMail(f"`{attachment.content_type[:60]}` is no media type of an attachment")
    message.add_attachment(
        attachment.content, maintype=kind[1], subtype=kind[2], filename=attachment.filename
    )
