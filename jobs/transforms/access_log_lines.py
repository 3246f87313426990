"""Lines of web servers' access logs, as Columns.

Common Log Format: %h %l %u %t "%r" %>s %b. Combined: that and "%{Referer}i" "%{User-agent}i" (Apache HTTP Server documentation,
"Log Files"). Either may begin with the virtual host (%v or %v:%p), and what follows the agent is left alone.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

TIME = "dd/MMM/yyyy:HH:mm:ss Z"
# Servers write a quote within a field with a backslash before it. All that can be is possessive (`++`): it takes no time and no
# stack to refuse what is none.
_QUOTED = r'"((?:[^"\\]++|\\.)*+)"'
_CLIENT = r'(?:(\S++) )?(?!- )(\S++) \S++ (\S[^"]*?)'  # a client is never a dash, which tells it from the virtual host
_LINE = rf"(?s)^{_CLIENT} \[([^\]]++)\] {_QUOTED} (\d{{3}}) (\d++|-)(?: {_QUOTED} {_QUOTED}(?: .*+)?)?\s*+$"
_GROUPS = 9
_MARK = "\u0001"  # between the groups of a line
_METHOD = r"^([A-Z-]{1,32}) \S"
_PATH = r"(?s)^[A-Z-]{1,32} (\S.*?)(?: HTTP/[0-9.]{1,3})?$"


def groups(line: Column) -> Column:
    """The groups of a line as an array; of what is no such line, something shorter or longer.

    To be selected under a name of its own, so that the expression is looked for once and not for every field.
    """
    side_by_side = _MARK.join(f"${group}" for group in range(1, _GROUPS + 1))
    return F.split(F.regexp_replace(line, _LINE, side_by_side), _MARK)


def fields(groups: Column) -> dict[str, Column]:
    """VirtualHost (without its port), Client, User, Method, Path, Referrer, Agent string, Timestamp timestamp, Status int, Bytes
    long. A request that is no HTTP has neither Method nor Path."""
    host, client, user, time, request, status, size, referrer, agent = (F.get(groups, F.lit(group)) for group in range(_GROUPS))
    return {
        "VirtualHost": _given(F.regexp_replace(F.lower(host), r":\d+$", "")),
        "Client": client,
        "User": _given(user),
        "Timestamp": F.try_to_timestamp(time, F.lit(TIME)),
        "Method": _given(F.regexp_extract(request, _METHOD, 1)),
        "Path": _given(F.regexp_extract(request, _PATH, 1)),
        "Status": status.try_cast("int"),
        "Bytes": F.when(size == "-", F.lit(0).cast("bigint")).otherwise(size.try_cast("bigint")),
        "Referrer": _given(referrer),
        "Agent": _given(agent),
    }


def reason(groups: Column) -> Column:
    """Why a line is none; null where it is one."""
    found = fields(groups)
    return (
        F.when(F.size(groups) != _GROUPS, "not a line of the Common or Combined Log Format")
        .when(found["Timestamp"].isNull(), F.concat(F.lit("no such time: "), F.get(groups, F.lit(3))))
        .when(found["Bytes"].isNull(), F.concat(F.lit("no such size: "), F.get(groups, F.lit(6))))
    )


def _given(field: Column) -> Column:
    """Null for the dash that servers write for nothing."""
    return F.when(~field.isin("", "-"), field)
