"""Filling the settings in: defaults, then `muster.toml`, then the environment, then flags."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr, ValidationError

from muster.app.settings import OTHER_NAMES, Leaf, Settings, leaves
from muster.kit.names import nearest

CONFIG_VARIABLE = "MUSTER_CONFIG"


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
    return _flat(document, by_path, str(path)), str(path)


def _flat(
    table: Mapping[str, object], by_path: Mapping[str, Leaf], source: str, above: str = ""
) -> dict[str, object]:
    """Turn nested tables into dotted names, refusing those that are not settings."""
    found: dict[str, object] = {}
    for name, value in table.items():
        path = f"{above}{name}"
        if path in by_path:
            found[path] = value
        elif isinstance(value, dict) and any(known.startswith(f"{path}.") for known in by_path):
            found.update(_flat(value, by_path, source, f"{path}."))
        else:
            raise SettingsError(f"{source} sets {path!r}, which is not a setting.{_guess(path, by_path)}")
    return found


def _from_environment(
    environment: Mapping[str, str], by_path: Mapping[str, Leaf]
) -> tuple[dict[str, object], str]:
    """An empty variable counts as not set: that is how compose files leave things out."""
    variables = {leaf.variable: path for path, leaf in by_path.items()}
    for name in environment:
        if name.startswith("MUSTER_") and name not in variables and name != CONFIG_VARIABLE:
            raise SettingsError(f"{name} is not a setting.{_guess(name, variables)}")
    known = {**OTHER_NAMES, **variables}
    return {path: environment[name] for name, path in known.items() if environment.get(name)}, ""


def _variables(
    environment: Mapping[str, str], paths: Iterable[str], by_path: Mapping[str, Leaf]
) -> dict[str, str]:
    others = {path: name for name, path in OTHER_NAMES.items()}
    return {
        path: variable if environment.get(variable := by_path[path].variable) else others[path]
        for path in paths
    }


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
            f"{path or '.'.join(names)} (from {sources.get(path, 'the defaults')}): {detail['msg']}."
        )
    return found


def shown(leaf: Leaf, settings: Settings) -> str:
    """A setting's value as it may be shown: secrets masked, URLs without their password."""
    value = leaf.value(settings)
    if isinstance(value, SecretStr):
        from muster.store.address import masked  # here, since it loads the database drivers' library

        # Only of an address is it known where its password stands.
        is_address = leaf.path.rpartition(".")[2] == "url"
        return masked(value.get_secret_value()) if is_address else "***"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
