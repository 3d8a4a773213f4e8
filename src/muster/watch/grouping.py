"""Groups: the dimensions by which runs of a workflow are counted apart."""

import hashlib
import json
from collections.abc import Sequence

from muster.model.json import Json, JsonObject, JsonView

# In hex: the first 16 bytes.
HASH_CHARACTERS = 32
_ENCODED = str.maketrans({"%": "%25", "|": "%7C", "=": "%3D"})


def restricted(group: JsonView | None, dimensions: Sequence[str]) -> JsonObject:
    """What of a group a workflow counts by."""
    return {} if group is None else {name: group[name] for name in dimensions if group.get(name) is not None}


def group_hash(group: JsonView) -> str:
    """What names a group.

    >>> group_hash({"region": "NY", "book": "EQD"}) == group_hash({"book": "EQD", "region": "NY"})
    True
    >>> group_hash({"book": "EQD"}) == hashlib.sha256(b"book=EQD").hexdigest()[:32]
    True
    """
    text = "|".join(f"{_encoded(name)}={_encoded(group[name])}" for name in sorted(group))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS]


def _encoded(value: Json) -> str:
    text = value if isinstance(value, str) else _as_json(value)
    return text.translate(_ENCODED)


def _as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
