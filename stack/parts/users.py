"""The file of users: that of SUNDIAL_USERS, or else of the embedded stack."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contracts.users import Users, UsersError
from stack import private
from stack.errors import StackError
from stack.instance import Instance
from stack.parts import audit_log

FILE = "SUNDIAL_USERS"


def read(instance: Instance) -> Users:
    """Raises StackError for a damaged file, and where there is neither a stack nor the variable."""
    try:
        return Users.read(_file(instance))
    except UsersError as error:
        raise StackError(str(error), remedy="bring it back from a copy, or delete it and add the users again") from error


def write(instance: Instance, users: Users, act: str, about: Mapping[str, Any]) -> None:
    """The audit log says who does it. Raises StackError if it can't be written."""
    audit_log.note(instance, act, about)
    private.replace(_file(instance), users.text())


def _file(instance: Instance) -> Path:
    if named := os.environ.get(FILE):
        return Path(named)
    if not instance.exists():
        raise StackError(f"no stack in {instance.path}", remedy=f"start one: sundial up, or name the file by {FILE}")
    return instance.users
