"""Topics that Muster has for itself."""

# Up to where streams of the outbox were published: who else wrote there could have messages sent twice, or
# never.
MARKERS = "muster.publisher"
