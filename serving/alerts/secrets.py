"""The secrets of the routes, from environment variables: whether all are there, and of use."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from contracts.alerts import Route, Target, variables_of
from serving.alerts import signature

SCHEMES = {"email": ("smtps", "smtp")}  # of the other kinds: https, and http to this machine


def environment(routes: Mapping[str, Route], env: Mapping[str, str]) -> dict[str, str]:
    """The variables that the routes name, as far as they are set. A line break at the end of one is none of it."""
    return {name: env[name].strip() for name in variables_of(routes) if env.get(name, "").strip()}


def mistakes(routes: Mapping[str, Route], env: Mapping[str, str]) -> list[str]:
    """What is wrong with the variables, each as `route: field: what`. No value is shown."""
    return [
        f"{name}: {field}: {what}"
        for name, route in routes.items()
        for field, target in route.targets.items()
        for what in of_target(target, env)
    ]


def of_target(target: Target, env: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the variables of one target. No value is shown."""
    missing = [name for name in target.variables if name not in env]
    if len(missing) == 1:
        yield f"the environment variable {missing[0]} is not set"
    elif missing:
        yield f"the environment variables {' and '.join(missing)} are not set"
    if missing:
        return
    if target.url and (what := _of_url(env[target.url], target)):
        yield f"{target.url} {what}"
    if target.kind == "webhook":
        try:
            signature.key_of(env[target.key or ""])
        except signature.BadKey as error:
            yield f"{target.key} is {error}"


def _of_url(url: str, target: Target) -> str | None:
    web = ("https", "http") if target.network == "loopback" else ("https",)
    schemes = SCHEMES.get(target.kind, web)
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no address"
    if parts.scheme == "http" and schemes == ("https",) and valid:
        return "begins with http://, which is for receivers on this machine only: then the target needs network: loopback"
    if parts.scheme not in schemes or not valid:
        return f"is no address that begins with {' or '.join(f'{each}://' for each in schemes)}"
    return None
