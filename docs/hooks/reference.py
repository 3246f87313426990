"""Reference pages, generated when the site is built: what can be declared, and every command with its options."""

import ast
import contextlib
import html
import importlib
import inspect
import io
import re
import sys
import tokenize
from pathlib import Path
from unittest import mock

import click
import typer
from mkdocs.structure.files import File
from pydantic import BaseModel

from contracts.access_logs import AccessLog
from contracts.alerts import Escalation, Route, Silence, Target
from contracts.avro import Contract
from contracts.calendar_entries import Dates, Entry, Times
from contracts.feeds import Feed, Rule
from contracts.gate import Gate
from contracts.public_holidays import Holidays
from contracts.queries import Query
from contracts.query_io import Input, Key, Output
from stack.commands.cli import app

REPO = Path(__file__).parents[2]
DECLARATIONS = {
    "A feed: `schemas/feeds/<name>.yaml`": (Feed, Rule, Gate, Holidays, AccessLog),
    "Special days or maintenance windows: `schemas/calendar/<name>.yaml`": (Entry, Dates, Times),
    "A query: `schemas/queries/<name>.yaml`": (Query, Input, Key, Output),
    "A route of alerts: `schemas/alerts/<name>.yaml`": (Route, Target, Escalation, Silence),
    "A contract's compatibility: `schemas/avro/<record>/contract.yaml`": (Contract,),
}


def on_files(files, config):
    pages = {"declarations": declarations(), "sundial": sundial(), "jobs": jobs()}
    for name, content in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def declarations() -> str:
    parts = ["# Declarations\n\nWhat can be declared, field by field. An unknown field is an error.\n"]
    for title, models in DECLARATIONS.items():
        parts.append(f"## {title}\n")
        for model in models:
            parts += [f"### {model.__name__}\n", f"{inspect.getdoc(model)}\n", fields(model)]
    return "\n".join(parts)


def fields(model: type[BaseModel]) -> str:
    """A table of the fields, with the comment that stands beside each in the source."""
    said = {
        name: text
        for each in reversed(model.__mro__)
        if each.__module__.startswith("contracts.")
        for name, text in comments(each)
    }
    rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        schema = model.model_json_schema(by_alias=False)["properties"].get(name, {})
        kind = f"`{in_words(schema)}`"
        default = "required" if field.is_required() else shown(field)
        rows.append(
            "| " + " | ".join(cell(each) for each in (f"`{field.alias or name}`", kind, default, said.get(name, ""))) + " |"
        )
    return "\n".join(rows) + "\n"


def shown(field) -> str:
    default = field.get_default(call_default_factory=True)
    return "none" if default is None else "its own defaults" if isinstance(default, BaseModel) else f"`{default}`"


def in_words(schema: dict) -> str:
    """A JSON schema as a short type."""
    if "enum" in schema or "const" in schema:
        return " or ".join(str(each) for each in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " or ".join(in_words(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if schema.get("type") == "array":
        return f"list of {in_words(schema.get('items', {}))}"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()), {})
        return f"{in_words(values)} by name" if isinstance(values, dict) else "any by name"
    return schema.get("type", "any")


def comments(model: type) -> list[tuple[str, str]]:
    """Field and comment: that at the end of its line, or those right above it."""
    source = inspect.getsource(model)
    at_line = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    lines, found = source.splitlines(), []
    for node in ast.parse(source).body[0].body:
        if isinstance(node, ast.AnnAssign):
            own = at_line.get(node.end_lineno)
            above, line = [], node.lineno - 1
            while line in at_line and lines[line - 1].lstrip().startswith("#"):
                above.insert(0, at_line[line])
                line -= 1
            found.append((node.target.id, " ".join([*above, *([own] if own else [])])))
    return found


def cell(text: str) -> str:
    """Text in one line, for a table: what stands in backquotes as code, and no mark of HTML or of the table."""
    parts = " ".join(text.split()).split("`")
    safe = [html.escape(part, quote=False).replace("|", "&#124;") for part in parts]
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(safe))


def sundial() -> str:
    """Every command of `sundial` with its own help."""
    parts = ["# The command `sundial`\n"]

    def add(command: click.Command, names: list[str], parent: click.Context | None) -> None:
        context = click.Context(command, info_name=names[-1], parent=parent)
        parts.append(f"## `{' '.join(names)}`\n\n{plain(command.help)}\n")
        parts.append(parameters(command, context))
        for name in command.list_commands(context) if hasattr(command, "list_commands") else []:
            add(command.get_command(context, name), [*names, name], context)

    add(typer.main.get_command(app), ["sundial"], None)
    return "\n".join(parts)


def parameters(command: click.Command, context: click.Context) -> str:
    rows = [found for each in command.get_params(context) if (found := row(each, context)) and "--help" not in found]
    return "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) + "\n" if rows else ""


def row(parameter, context: click.Context) -> str:
    name, meaning = parameter.get_help_record(context) or (parameter.name.upper(), getattr(parameter, "help", "") or "")
    return f"| {cell(f'`{name}`')} | {cell(plain(meaning))} |"


def plain(text: str | None) -> str:
    """Help as Markdown: Rich's cyan is code, its bold is bold."""
    clean = inspect.cleandoc(text or "").replace("\b", "")
    clean = re.sub(r"\[cyan\](.*?)\[/cyan\]", lambda code: f"`{' '.join(code[1].split())}`", clean, flags=re.DOTALL)
    return re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", clean)


def jobs() -> str:
    """What each entry point in jobs/ says when it is asked for help."""
    parts = [
        "# The jobs\n",
        'Airflow submits them with `spark-submit`. By hand: `eval "$(sundial env)"`, then `python -m jobs.<name>`.\n',
    ]
    for file in sorted((REPO / "jobs").glob("*.py")):
        module = importlib.import_module(f"jobs.{file.stem}")
        if hasattr(module, "main"):
            parts.append(f"## `{file.stem}`\n\n```text\n{usage(module, file.stem)}```\n")
    return "\n".join(parts)


def usage(module, name: str) -> str:
    """A job reads its options before anything else, so it needs no platform to print them."""
    asked = mock.patch.object(sys, "argv", [name, "--help"])
    width = mock.patch.dict("os.environ", {"COLUMNS": "110"})
    with asked, width, contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        module.main(None)
    return said.getvalue()
