"""Plug-ins: found by entry point or by name, and asked once, at the start, what they add."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from muster.nodes import builtin
from muster.plugin.calling import Threads
from muster.plugin.registry import BadRegistration, Plugged, Registry

GROUP = "muster.plugins"
Register: TypeAlias = Callable[[Registry], object]


class PluginError(Exception):
    """A plug-in cannot be used; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plug-in and where its code is: `module`, or one function of it."""

    name: str
    module: str
    function: str = "register"


def found_plugins(modules: Sequence[str]) -> Iterator[Found]:
    """Those that are installed, by name, then those that the settings name; each once."""
    seen: set[tuple[str, str]] = set()
    installed = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    for found in (*map(_found, installed), *(Found(module, module) for module in modules)):
        if (found.module, found.function) not in seen:
            seen.add((found.module, found.function))
            yield found


def _found(entry: EntryPoint) -> Found:
    return Found(entry.name, entry.module, entry.attr or "register")


def load_plugins(modules: Sequence[str], threads: Threads) -> Plugged:
    """Ask every plug-in what it adds. Raises `PluginError`."""
    plugged, built_in = Plugged(), builtin()
    for found in found_plugins(modules):
        register = _register(found)
        try:
            register(Registry(found.name, plugged, threads, built_in))
        except BadRegistration as bad:
            raise PluginError(str(bad)) from None
        except Exception as error:  # it is others' code, and whatever it raises is said with its name
            raise PluginError(f"The plug-in `{found.name}` cannot register: {_told(error)}.") from error
    return plugged


def _register(found: Found) -> Register:
    try:
        module = import_module(found.module)
    except Exception as error:  # likewise: importing runs others' code
        raise PluginError(f"The plug-in `{found.name}` cannot be imported: {_told(error)}.") from error
    register: object = module
    for name in found.function.split("."):
        register = getattr(register, name, None)
    if not callable(register):
        where = f"`{found.module}` has no function `{found.function}`"
        raise PluginError(f"The plug-in `{found.name}` cannot be used: {where}.")
    made: Register = register
    return made


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".: ")
