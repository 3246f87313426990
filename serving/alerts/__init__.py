"""Alerts: people are notified of incidents, by the routes that are declared. A process of its own: `python -m serving.alerts`."""
