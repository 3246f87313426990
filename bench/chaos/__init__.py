"""A seeded run of a whole stack under hostile records, faults and people, and a verifier that shares no code with the jobs."""
