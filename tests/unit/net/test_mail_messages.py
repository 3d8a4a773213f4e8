"""Messages as they go over the wire: what is said is there, and nothing becomes a header of its own."""

from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.net.message import BadMail, Letter, addresses, check_headers, message_id_of, write_letter
from muster.nodes.ports import Attachment, Mail

AT = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
MAIL = Mail(key="e1:welcome:1:ada", at=AT, to=("ada@example.com",), subject="Hello", text="Hi")
OURS = "Muster <muster@house.example>"


def written(mail: Mail) -> tuple[Letter, EmailMessage]:
    letter = write_letter(mail, OURS, None, 1_000_000)
    read = message_from_bytes(letter.content, policy=policy.default)
    assert isinstance(read, EmailMessage)
    return letter, read


def test_a_message_says_who_what_and_when() -> None:
    letter, read = written(MAIL)
    assert read["From"] == OURS
    assert read["To"] == "ada@example.com"
    assert read["Subject"] == "Hello"
    assert read["Date"] == "Sun, 15 Nov 2026 12:30:00 +0000"
    assert read.get_content() == "Hi\r\n"
    assert (letter.sender, letter.recipients) == ("muster@house.example", ("ada@example.com",))


def test_a_repeat_has_the_same_message_id_and_another_effect_another() -> None:
    first, read = written(MAIL)
    assert read["Message-ID"] == first.message_id == written(replace(MAIL, subject="Again"))[0].message_id
    assert first.message_id.endswith("@house.example>")
    assert written(replace(MAIL, key="e1:welcome:2:ada"))[0].message_id != first.message_id
    assert message_id_of("a\r\nb", "x").isprintable()


def test_blind_copies_are_on_the_envelope_alone() -> None:
    mail = replace(MAIL, cc=("Bob <bob@example.com>",), bcc=("eve@example.com", "ada@example.com"))
    letter, read = written(mail)
    assert letter.recipients == ("ada@example.com", "bob@example.com", "eve@example.com")
    assert read["Bcc"] is None
    assert b"eve@" not in letter.content
    assert read["Cc"] == "Bob <bob@example.com>"


def test_html_stands_beside_the_text_or_instead_of_it() -> None:
    _, both = written(replace(MAIL, html="<p>Hi</p>"))
    assert both.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in both.iter_parts()] == ["text/plain", "text/html"]
    _, alone = written(replace(MAIL, text=None, html="<p>Hi</p>"))
    assert (alone.get_content_type(), alone.get_content()) == ("text/html", "<p>Hi</p>\r\n")
    assert written(replace(MAIL, text=None))[1].get_content() == "\r\n"


def test_attachments_come_back_as_they_were() -> None:
    files = (
        Attachment("räport.pdf", "application/pdf", b"%PDF\x00\xff"),
        Attachment("a.txt", "text/plain", "grün".encode()),
    )
    _, read = written(replace(MAIL, attachments=files))
    found = [(part.get_filename(), part.get_payload(decode=True)) for part in read.iter_attachments()]
    assert found == [("räport.pdf", b"%PDF\x00\xff"), ("a.txt", "grün".encode())]


def test_a_reply_goes_where_the_author_says_and_the_sender_is_theirs_to_name() -> None:
    letter, read = written(replace(MAIL, sender="Shop <shop@example.org>", reply_to=("help@example.org",)))
    assert (read["From"], read["Reply-To"]) == ("Shop <shop@example.org>", "help@example.org")
    assert letter.sender == "shop@example.org"
    assert letter.message_id.endswith("@example.org>")


def test_words_of_any_language_survive() -> None:
    subject, text = "Grüße aus Köln — 你好 🎉", "Zeile\n.\n日本 " + "ü" * 2_000
    letter, read = written(replace(MAIL, subject=subject, text=text))
    assert read["Subject"] == subject
    assert read.get_content() == text.replace("\n", "\r\n") + "\r\n"
    assert letter.content.isascii()
    assert max(map(len, letter.content.split(b"\r\n"))) <= 998


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("a@x.de, b@y.de; c@z.de", ["a@x.de", "b@y.de", "c@z.de"]),
        ('"Lovelace, Ada" <ada@x.de>, b@y.de', ["ada@x.de", "b@y.de"]),
        ("O'Hara <o'hara+tag@x-y.co.uk>", ["o'hara+tag@x-y.co.uk"]),
        ("ada@bücher.example", ["ada@xn--bcher-kva.example"]),
        ("root@localhost", ["root@localhost"]),
        ("", []),
        (" , ", []),
    ],
)
def test_addresses_are_read_with_and_without_names(text: str, specs: list[str]) -> None:
    assert [each.addr_spec for each in addresses([text], "to")] == specs


@pytest.mark.parametrize(
    "address",
    [
        *("ada", "@x.de", "ada@", "a b@x.de", "ada@x..de", "ada@-x.de", "<ada@x.de", "ada@x.de>", ".a@x.de"),
        *("a..b@x.de", "ädä@x.de", "ada@x.de (comment)", "ada@[127.0.0.1]", '"ada@x.de', "a@b@c <x>"),
        "a" * 65 + "@x.de",
        "ada@" + "x" * 300,
    ],
)
def test_what_is_no_address_is_refused_by_its_field(address: str) -> None:
    with pytest.raises(BadMail, match=r"`to`: .* is no e-mail address"):
        written(replace(MAIL, to=(address,)))


INJECTIONS = ["\r\n", "\n", "\r", "\0", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\udc80"]


@pytest.mark.parametrize("character", INJECTIONS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subject", "Hi{}Bcc: eve@example.com"),
        ("sender", "Shop{}Bcc: eve@example.com <shop@example.org>"),
        ("sender", "shop@example.org{}Bcc: eve@example.com"),
        ("to", ("Ada{}Bcc: eve@example.com <ada@example.com>",)),
        ("to", ("ada@example.com{}Bcc: eve@example.com",)),
        ("cc", ("bob@example.com{}X: y",)),
        ("bcc", ("bob@example.com{}RCPT TO:<x@y.de>",)),
        ("reply_to", ("a@b.de{}X: y",)),
        ("attachments", (Attachment("a{}X: y.txt", "text/plain", b""),)),
    ],
)
def test_a_line_break_in_what_becomes_a_header_is_refused(
    field: str, value: str | tuple[str | Attachment, ...], character: str
) -> None:
    def broken(part: str | Attachment) -> str | Attachment:
        if isinstance(part, Attachment):
            return replace(part, filename=part.filename.format(character))
        return part.format(character)

    bad = broken(value) if isinstance(value, str) else tuple(broken(part) for part in value)
    with pytest.raises(BadMail, match="line break or another control character"):
        written(replace(MAIL, **{field: bad}))  # type: ignore[arg-type]  # fields by name


def test_an_encoded_word_is_refused_since_it_would_be_read_as_what_it_encodes() -> None:
    word = "=?utf-8?q?x=0D=0ABcc:_eve@example.com?="
    for mail in (replace(MAIL, subject=word), replace(MAIL, to=(f"{word} <ada@example.com>",))):
        with pytest.raises(BadMail, match="encoded word"):
            written(mail)
    assert written(replace(MAIL, subject="is a=?b or c?"))[1]["Subject"] == "is a=?b or c?"


def test_a_word_that_no_line_has_room_for_is_refused() -> None:
    with pytest.raises(BadMail, match="more than 900 characters"):
        written(replace(MAIL, subject="x" * 901))
    assert written(replace(MAIL, subject="字" * 1_500))[1]["Subject"] == "字" * 1_500


def test_a_header_that_nobody_meant_keeps_a_message_from_going() -> None:
    check_headers(b"Subject: x\r\n y\r\nContent-Type: text/plain\r\n\r\nBcc: in the body")
    for line in (b"Bcc: eve@example.com", b"X-Mine: 1", b"no header"):
        with pytest.raises(BadMail, match="a header of its own"):
            check_headers(b"Subject: x\r\n" + line + b"\r\n\r\n")


@given(subject=st.text(), name=st.text(), text=st.text(), html=st.text())
def test_whatever_is_said_no_header_appears_that_nobody_set(
    subject: str, name: str, text: str, html: str
) -> None:
    mail = replace(MAIL, subject=subject, to=(f'"{name}" <ada@example.com>',), text=text, html=html)
    try:
        letter, read = written(mail)
    except BadMail:
        return
    known = {"Message-ID", "Date", "From", "To", "Subject", "MIME-Version", "Content-Type"}
    assert set(read.keys()) <= known
    assert letter.recipients == ("ada@example.com",)
    assert letter.content.isascii()


@pytest.mark.parametrize("kind", ["text", "multipart/mixed", "message/rfc822", "a/b; x=y", "a/b\r\nX: y", ""])
def test_an_attachment_of_no_media_type_is_refused(kind: str) -> None:
    with pytest.raises(BadMail, match="is no media type"):
        written(replace(MAIL, attachments=(Attachment("a", kind, b""),)))


def test_a_message_that_is_too_large_is_refused() -> None:
    with pytest.raises(BadMail, match="1,000,000 are allowed"):
        written(replace(MAIL, attachments=(Attachment("a", "a/b", bytes(900_000)),)))


def test_a_message_to_too_many_or_to_nobody_is_refused() -> None:
    with pytest.raises(BadMail, match="this has 101"):
        written(replace(MAIL, to=tuple(f"u{number}@x.de" for number in range(101))))
    with pytest.raises(BadMail, match="this has 0"):
        written(replace(MAIL, to=()))
