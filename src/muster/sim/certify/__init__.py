"""Certificates: one workflow on the real engine, under virtual time, crashed at every commit."""
