"""The embedded stack and the command `sundial`: fetches the parts, starts, watches and stops them on one machine.

`commands` uses `parts`, `parts` uses `deploy` and `install`. Beside them are `instance`, `private` and `errors`, which all use,
and the main job of `sundial run`: `main_job` and `demo`. `install` and `errors` run before there is a virtual environment:
standard library only.
"""
