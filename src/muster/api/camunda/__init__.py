"""Camunda 7's protocol of external tasks, as its clients speak it: names, types and errors are theirs."""
