"""Alerts: incidents are told to people, by the routes that are declared. A process of its own: `python -m serving.alerts`."""
