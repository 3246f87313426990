"""The audit log of what commands change: the file of SUNDIAL_AUDIT_LOG, or else of the embedded stack."""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contracts import audit
from stack.errors import StackError
from stack.instance import Instance


def note(instance: Instance, act: str, about: Mapping[str, Any]) -> None:
    """Who does it, as the system knows them. Without a stack and a file that is named, nothing is noted. Raises StackError if the
    file can't be written: then the act must not be done."""
    named = os.environ.get(audit.FILE)
    if not named and not instance.exists():
        return
    try:
        text = audit.line(audit.new_id(), f"{getpass.getuser()} of the machine", None, act, about)
        audit.add(Path(named) if named else instance.audit_log, text)
    except OSError as error:
        raise StackError(f"the audit log can't be written: {error}", remedy="make it writable") from error
