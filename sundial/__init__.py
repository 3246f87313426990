"""What people import: the client of the API."""
