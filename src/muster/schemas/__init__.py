"""Schemas of messages: Avro, JSON Schema and AsyncAPI, written out or kept in a registry."""
