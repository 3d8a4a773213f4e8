"""Text that every database and every other program takes: no NUL, and no half of a surrogate pair."""


def is_suitable(text: str) -> bool:
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def made_suitable(text: str) -> str:
    """The text with marks in the place of what nobody could keep; for what others wrote.

    >>> made_suitable("a\\0b")
    'a�b'
    """
    plain = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return plain if plain.isascii() else plain.encode(errors="replace").decode()
