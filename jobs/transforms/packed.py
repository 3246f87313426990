"""Tables of Arrow as bytes, in the state of a query: a group's many rows are read and written as one."""

import pyarrow as pa


def pack(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return out.getvalue().to_pybytes()


def unpack(packed: bytes) -> pa.Table:
    return pa.ipc.open_stream(packed).read_all()
