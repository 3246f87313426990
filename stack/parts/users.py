"""The file of users: that of SUNDIAL_USERS, or else of the embedded stack."""

import os
from pathlib import Path

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


def write(instance: Instance, users: Users) -> None:
    private.replace(_file(instance), users.text())


def _file(instance: Instance) -> Path:
    if named := os.environ.get(FILE):
        return Path(named)
    if not instance.exists():
        raise StackError(f"no stack in {instance.path}", remedy=f"start one: sundial up, or name the file by {FILE}")
    return instance.users
