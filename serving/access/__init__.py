"""Who uses the API, and what each may do. Without users, only readers on the same machine get in."""
