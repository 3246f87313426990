"""Tables of Arrow as bytes, in the state of a query: a group's many rows are read and written as one."""

import pyarrow as pa


def to_bytes(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    packed: bytes = out.getvalue().to_pybytes()
    return packed


def from_bytes(stored: bytes) -> pa.Table:
    return pa.ipc.open_stream(stored).read_all()
