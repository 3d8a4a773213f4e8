"""Filling the settings in: defaults, then `muster.toml`, then the environment, then flags."""

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pydantic import SecretStr, ValidationError

from muster.app.settings import OTHER_NAMES, Leaf, Settings, leaves
from muster.kit.names import nearest

CONFIG_VARIABLE = "MUSTER_CONFIG"
_ADDRESS = re.compile(r"[\w+.-]+://|[^\s:@]*:\S*@")


class SettingsError(Exception):
    """A setting cannot be used as it is given; the message says which, where and what was expected."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and for each that is not a default, where its value came from."""

    settings: Settings
    sources: Mapping[str, str]

    def ignored(self) -> list[str]:
        """Settings that were given but that nothing in this version reads."""
        return [leaf.path for leaf in leaves() if leaf.later and leaf.path in self.sources]


def load(environment: Mapping[str, str], flags: Mapping[str, object], folder: Path) -> Loaded:
    """Read every source. `flags` are by setting name; those that are None were not given."""
    by_path = {leaf.path: leaf for leaf in leaves()}
    given: dict[str, object] = {}
    sources: dict[str, str] = {}
    for values, source in (
        _from_file(environment, folder, by_path),
        _from_environment(environment, by_path),
        ({path: value for path, value in flags.items() if value is not None}, "command line"),
    ):
        given.update(values)
        sources.update(dict.fromkeys(values, source) if source else _variables(environment, values, by_path))
    return Loaded(_validated(given, sources), sources)


def _from_file(
    environment: Mapping[str, str], folder: Path, by_path: Mapping[str, Leaf]
) -> tuple[dict[str, object], str]:
    named = environment.get(CONFIG_VARIABLE)
    path = folder / (named or "muster.toml")
    if not named and not path.exists():
        return {}, str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from None
    found = dict(_flat(document, by_path))
    _refuse(
        f"{path} sets {name!r}, which is not a setting.{_guess(name, by_path)}"
        for name in found
        if name not in by_path
    )
    return found, str(path)


def _flat(
    table: Mapping[str, object], by_path: Mapping[str, Leaf], above: str = ""
) -> Iterator[tuple[str, object]]:
    """What nested tables set, by dotted names; also what is not a setting."""
    for name, value in table.items():
        path = f"{above}{name}"
        if isinstance(value, dict) and any(known.startswith(f"{path}.") for known in by_path):
            yield from _flat(value, by_path, f"{path}.")
        else:
            yield path, value


def _refuse(sentences: Iterable[str]) -> None:
    if said := "\n".join(sentences):
        raise SettingsError(said)


def _from_environment(
    environment: Mapping[str, str], by_path: Mapping[str, Leaf]
) -> tuple[dict[str, object], str]:
    """An empty variable counts as not set: that is how compose files leave things out."""
    variables = {leaf.variable: path for path, leaf in by_path.items()}
    known = {**OTHER_NAMES, **variables}
    given: dict[str, object] = {
        path: environment[name] for name, path in known.items() if environment.get(name)
    }
    _refuse(
        f"{name} is not a setting.{guess}"
        for name in sorted(environment)
        if name not in known and (guess := _doubt(name, environment[name], variables, given))
    )
    return given, ""


def _doubt(name: str, value: str, variables: Iterable[str], given: Container[str]) -> str:
    """What to say of a variable that is none of ours, if it was meant to be."""
    if name.startswith("MUSTER_") and name != CONFIG_VARIABLE:
        return _guess(name, variables)
    # Other programs' variables begin as ours do: only a slip counts, and only if the right name is not set.
    for other, path in OTHER_NAMES.items():
        if value and path not in given and is_slip(name, other):
            return f" Did you mean {other}?"
    return ""


def _variables(
    environment: Mapping[str, str], paths: Iterable[str], by_path: Mapping[str, Leaf]
) -> dict[str, str]:
    others = {path: name for name, path in OTHER_NAMES.items()}
    return {
        path: variable if environment.get(variable := by_path[path].variable) else others[path]
        for path in paths
    }


def is_slip(name: str, meant: str) -> bool:
    """Whether a name is `meant` with one letter more, less or other, or two neighbours exchanged.

    The part before the first `_` is the same, and what follows has three letters or more: of two,
    too many are one letter apart (`INSTANCE_IP`).
    """
    prefix, _, rest = meant.partition("_")
    if not name.startswith(f"{prefix}_") or len(rest) < 3:
        return False
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(name, meant, strict=False))
    same = sum(1 for _ in alike)
    wrong, right = name[same:], meant[same:]
    return (
        wrong[1:] in (right, right[1:])
        or wrong == right[1:]
        or (wrong[:2] == right[1::-1] and wrong[2:] == right[2:])
    )


def _guess(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f" Did you mean {close}?" if close else " `muster config` lists them all."


def _validated(given: Mapping[str, object], sources: Mapping[str, str]) -> Settings:
    nested: dict[str, object] = {}
    for path, value in given.items():
        *tables, name = path.split(".")
        place = nested
        for table in tables:
            inner = place.setdefault(table, {})
            assert isinstance(inner, dict)
            place = inner
        place[name] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        raise SettingsError("\n".join(_sentences(error, sources))) from None


def _sentences(error: ValidationError, sources: Mapping[str, str]) -> list[str]:
    """What is wrong, without the value: it may be a secret."""
    found = []
    for detail in error.errors(include_url=False, include_input=False):
        names = [str(part) for part in detail["loc"]]
        path = next((p for p in (".".join(names[:n]) for n in range(len(names), 0, -1)) if p in sources), "")
        found.append(
            f"{path or '.'.join(names)} (from {sources.get(path, 'the defaults')}): "
            f"{detail['msg'].removeprefix('Value error, ')}."
        )
    return found


def shown(leaf: Leaf, settings: Settings) -> str:
    """A setting's value as it may be shown: secrets masked, addresses without those whom they name."""
    value = leaf.value(settings)
    if isinstance(value, SecretStr):
        from muster.store.address import masked  # here, since it loads the database drivers' library

        # Only of an address is it known where its password stands.
        is_address = leaf.path.rpartition(".")[2] == "url"
        return masked(value.get_secret_value()) if is_address else "***"
    if isinstance(value, dict):
        return ",".join(f"{name}=***" for name in value)
    if isinstance(value, tuple):
        return _open(",".join(map(str, value)))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else _open(str(value))


def _open(text: str) -> str:
    """A value that is no secret, unless it is an address (no mail address) that holds one."""
    if not _ADDRESS.match(text):
        return text
    from muster.store.address import without_user

    return without_user(text)
