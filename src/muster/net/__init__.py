"""The network edge: HTTP under an egress policy, mail over SMTP, WhatsApp over its Cloud API."""
