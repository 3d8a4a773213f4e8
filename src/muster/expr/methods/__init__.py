"""The methods that values have: a fixed list, named and behaving as Java's.

Each is a function of its target and its arguments. Its first example is what the designer shows, and a test
runs all.
"""

from collections.abc import Callable, Mapping

from muster.expr.methods import collections, text, values
from muster.model.json import Json

METHODS: Mapping[str, Callable[..., Json]] = {
    "charAt": text.char_at,
    "compareTo": values.compare_to,
    "compareToIgnoreCase": text.compare_to_ignore_case,
    "concat": text.concat,
    "contains": values.contains,
    "containsAll": collections.contains_all,
    "containsKey": collections.contains_key,
    "containsValue": collections.contains_value,
    "doubleValue": values.double_value,
    "endsWith": text.ends_with,
    "entrySet": collections.entry_set,
    "equals": values.equals,
    "equalsIgnoreCase": text.equals_ignore_case,
    "get": collections.get,
    "getOrDefault": collections.get_or_default,
    "indexOf": values.index_of,
    "intValue": values.int_value,
    "isBlank": text.is_blank,
    "isEmpty": values.is_empty,
    "keySet": collections.key_set,
    "lastIndexOf": values.last_index_of,
    "length": text.length,
    "longValue": values.int_value,
    "matches": text.matches,
    "repeat": text.repeat_text,
    "replace": text.replace,
    "replaceAll": text.replace_all,
    "replaceFirst": text.replace_first,
    "size": collections.size,
    "split": text.split,
    "startsWith": text.starts_with,
    "strip": text.strip,
    "subList": collections.sub_list,
    "substring": text.substring,
    "toLowerCase": text.to_lower_case,
    "toString": values.to_string,
    "toUpperCase": text.to_upper_case,
    "trim": text.trim,
    "values": collections.values,
}
