"""The file of users: that of SUNDIAL_USERS, or else of the embedded stack."""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contracts import audit
from contracts.users import Users, UsersError
from stack import private
from stack.errors import StackError
from stack.instance import Instance

FILE = "SUNDIAL_USERS"


def read(instance: Instance) -> Users:
    """Raises StackError for a damaged file, and where there is neither a stack nor the variable."""
    try:
        return Users.read(_file(instance))
    except UsersError as error:
        raise StackError(str(error), remedy="bring it back from a copy, or delete it and add the users again") from error


def write(instance: Instance, users: Users, act: str, about: Mapping[str, Any]) -> None:
    """The audit log says who does it, as the system knows them. Raises StackError if it can't be written."""
    if log := _audit_log(instance):
        try:
            audit.add(log, audit.line(audit.new_id(), f"{getpass.getuser()} of the machine", None, act, about))
        except OSError as error:
            raise StackError(f"the audit log can't be written: {error}", remedy="make it writable") from error
    private.replace(_file(instance), users.text())


def _audit_log(instance: Instance) -> Path | None:
    """None: no variable names one, and the users are not those of a stack."""
    if named := os.environ.get(audit.FILE):
        return Path(named)
    return None if os.environ.get(FILE) else instance.audit_log


def _file(instance: Instance) -> Path:
    if named := os.environ.get(FILE):
        return Path(named)
    if not instance.exists():
        raise StackError(f"no stack in {instance.path}", remedy=f"start one: sundial up, or name the file by {FILE}")
    return instance.users
