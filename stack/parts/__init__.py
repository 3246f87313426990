"""What runs: each process of a stack, how they start and stop together, and the jobs that they run. May import `deploy` and
`install`, not `commands`.
"""
