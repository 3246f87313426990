"""The HTTP API and the dashboard: the derived topics and the tables, merged. May import `contracts` and `supervision`."""
