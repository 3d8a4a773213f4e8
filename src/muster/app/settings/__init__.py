"""Every setting, once: its name, type, default and meaning. `app/load.py` fills them in."""

from muster.app.settings.instance import CallbackSettings, DatabaseSettings, LogSettings, TracingSettings
from muster.app.settings.leaf import Leaf, leaves
from muster.app.settings.messages import KafkaSettings, RedisSettings
from muster.app.settings.outside import SchemaSettings, SmtpSettings, WhatsAppSettings
from muster.app.settings.watching import IngestionSettings
from muster.app.settings.whole import OTHER_NAMES, Settings

__all__ = [
    "OTHER_NAMES",
    "CallbackSettings",
    "DatabaseSettings",
    "IngestionSettings",
    "KafkaSettings",
    "Leaf",
    "LogSettings",
    "RedisSettings",
    "SchemaSettings",
    "Settings",
    "SmtpSettings",
    "TracingSettings",
    "WhatsAppSettings",
    "leaves",
]
