"""Producers: captures that are replayed, records that are sent, services that are simulated. May import `contracts`."""
