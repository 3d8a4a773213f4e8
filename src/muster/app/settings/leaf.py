"""Every setting by itself: what is documented, read from variables and told of."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic.fields import FieldInfo

from muster.app.settings.groups import Group, kebab
from muster.app.settings.whole import Settings


@dataclass(frozen=True, slots=True)
class Leaf:
    """One setting: `path` is its name in `muster.toml`, with dots between tables."""

    path: str
    attributes: tuple[str, ...]
    field: FieldInfo

    @property
    def variable(self) -> str:
        return "MUSTER_" + "_".join(self.attributes).upper()

    @property
    def later(self) -> bool:
        return self.field.json_schema_extra == {"later": True}

    @property
    def secret(self) -> bool:
        return "SecretStr" in str(self.field.annotation)

    def value(self, settings: Settings) -> object:
        value: object = settings
        for attribute in self.attributes:
            value = getattr(value, attribute)
        return value


def leaves(group: type[Group] = Settings, above: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every setting, in the order of the documentation."""
    for name, field in group.model_fields.items():
        here = (*above, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group):
            yield from leaves(field.annotation, here)
        else:
            yield Leaf(".".join(map(kebab, here)), here, field)
