"""What serving asks the brokers about partitions, where they do not answer."""

import subprocess
import sys

from stack.instance import ROOT

# A client that nothing refers to, but itself; and a collector that runs at the first chance, which is when the answer comes.
LEFT_ALONE = """
import gc, threading, time
from types import SimpleNamespace
from confluent_kafka.admin import AdminClient
from serving.partitions import described

def leave():
    app = SimpleNamespace(admin=AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}))
    app.itself = app
    assert described(app.admin, ["t"], stop, 1.0) is None

stop = threading.Event()
stop.set()
gc.collect()
gc.disable()
leave()
gc.set_threshold(1, 1, 1)
gc.enable()
time.sleep(2)
print("alive")
"""


def test_an_answer_that_comes_after_the_stop_does_not_end_the_process():
    ran = subprocess.run([sys.executable, "-c", LEFT_ALONE], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "alive\n"), ran.stderr
