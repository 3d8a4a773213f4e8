"""The one place that knows every other: settings, wiring, the server and the command line."""
