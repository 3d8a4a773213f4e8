"""Watched workflows that many tests are about: a trade on its way through four systems, and an allocation."""

from typing import Any

TRADE: dict[str, Any] = {
    "name": "Trade Lifecycle",
    "key": "trade-lifecycle",
    "createdBy": "ops",
    "graph": {
        "nodes": [
            {"key": "ingest", "eventType": "TRADE_INGEST", "start": True},
            {"key": "sys2-verify", "eventType": "SYS2_VERIFIED"},
            {"key": "sys3-ack", "eventType": "SYS3_ACK"},
            {"key": "sys4-settle", "eventType": "SYS4_SETTLED", "terminal": True},
        ],
        "edges": [
            {
                "from": "ingest",
                "to": "sys2-verify",
                "maxLatencySec": 300,
                "severity": "amber",
                "expectedCount": 2,
            },
            {"from": "sys2-verify", "to": "sys3-ack", "maxLatencySec": 300, "severity": "red"},
            {
                "from": "sys3-ack",
                "to": "sys4-settle",
                "absoluteDeadline": "08:00Z",
                "severity": "amber",
                "optional": True,
            },
        ],
    },
    "groupDimensions": ["book", "region"],
}

EQUITY: dict[str, Any] = {
    "name": "Equity Allocation",
    "key": "equity-flow",
    "createdBy": "ops",
    "graph": {
        "nodes": [
            {"key": "alloc-received", "eventType": "EQUITY_ALLOC", "start": True},
            {"key": "alloc-validated", "eventType": "EQUITY_VALIDATED"},
            {"key": "alloc-booked", "eventType": "EQUITY_BOOKED", "terminal": True},
        ],
        "edges": [
            {"from": "alloc-received", "to": "alloc-validated", "maxLatencySec": 120, "severity": "amber"},
            {"from": "alloc-validated", "to": "alloc-booked", "maxLatencySec": 300, "severity": "red"},
        ],
    },
    "groupDimensions": ["desk", "region"],
}
