"""Servers for the tests: in a process of their own, which can be killed and started again quickly."""

import json
import os
import signal
import subprocess
import sys
import time

# imports and loads compiled code once, then forks a server for every line it reads: a killed one is replaced at once
_PARENT = """
import json, os, sys, tempfile
from linsep.models.perceptron import Perceptron
from linsep.models.progressive import ProgressiveLearner, warm_up
from linsep.serve.server import Address, serve
from linsep.serve.service import Service
warm_up(ProgressiveLearner(Perceptron(shuffle=False), []))
for line in sys.stdin:
    options = json.loads(line)
    child = os.fork()
    if child == 0:
        os.setsid()
        service = Service(options["folder"])
        for note in service.notes:
            print(json.dumps({"note": note}), flush=True)
        started = lambda url: print(json.dumps({"url": url, "pid": os.getpid()}), flush=True)
        address = Address(port=options["port"])
        serve(service, address, address.access(1000, 30.0), started=started)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(json.dumps({"ended": os.waitstatus_to_exitcode(status)}), flush=True)
"""


class Nursery:
    """Starts servers on one folder and one port, one after the other."""

    def __init__(self, folder, port=0):
        self.folder, self.port, self.notes = str(folder), port, []
        self.parent = subprocess.Popen(
            [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self):
        """Start a server; return its address."""
        self.parent.stdin.write(json.dumps({"folder": self.folder, "port": self.port}) + "\n")
        self.parent.stdin.flush()
        while "url" not in (told := json.loads(self.parent.stdout.readline())):
            self.notes.append(told["note"])
        self.pid, self.url = told["pid"], told["url"]
        self.port = int(self.url.rpartition(":")[2])
        return self.url

    def end(self, how=signal.SIGKILL):
        """End the server with a signal; return its exit code."""
        os.kill(self.pid, how)
        return json.loads(self.parent.stdout.readline())["ended"]

    def close(self):
        """End the parent."""
        self.parent.stdin.close()
        self.parent.wait(30)
        self.parent.stdout.close()


def command(folder, *options, **environment):
    """Start ``linsep serve`` as a user does; return the process, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "linsep", "serve", "--data", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    line = process.stdout.readline()
    assert line.startswith("linsep serve: http"), process.stderr.read()
    return process, line.split()[2]


def until(true, seconds=20.0):
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
