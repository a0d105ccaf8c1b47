"""The n-th write or sync of a short run fails, or the process dies there, for every n: nothing in between is left."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

MODES = {"full": 1, "broken": 2, "killed": 3, "torn": 4}
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine: apt-get install gcc"),
    pytest.mark.skipif(sys.platform != "linux", reason="calls are taken over by LD_PRELOAD"),
    pytest.mark.compiled,
]
REST = [("broken", 1, 4), ("broken", 2, 4), ("broken", 3, 4), ("full", 0, 1), ("torn", 0, 1), ("killed", 0, 1)]
PARTS = [("broken", 0, 4), *(pytest.param(*part, marks=pytest.mark.slow) for part in REST)]


@pytest.mark.parametrize(("mode", "first", "step"), PARTS)
def test_a_failing_write_leaves_the_old_state_or_the_new_one(mode, first, step, tmp_path):
    library = tmp_path / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        done = subprocess.run(
            [sys.executable, __file__, library, mode, str(first), str(step), folder],
            env={**os.environ, "LD_PRELOAD": str(library)}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["calls"] > 60
    assert found["failed"] == len(range(first, found["calls"], step))


# ---------------------------------------------------------------------------------------------------------------
# What runs in a process of its own, with the calls taken over

BATCHES = [
    [{"x": [1, 2], "y": "a", "id": "one"}, {"x": [2, -1], "y": "b"}],
    [{"x": [3, 1], "y": "b"}, {"x": {"size": 3, "color": "red"}, "y": "c", "id": "two"}],  # new columns, a new class
    [{"id": "kept", "y": "b"}],
]
LAST = [2, 4, 5]  # number of the last example of each


def learn(service, number):
    """Teach a batch; return what is answered, or raise what is."""
    from linsep.data.bodies import JSON, parse_body
    from linsep.serve.service import Request

    body = json.dumps(BATCHES[number]).encode()
    parsed = parse_body(body, JSON, {}, service.limits, service.columns, labeled=True)
    (answer,) = service.learn([Request(parsed, f"key {number}", body)])
    if isinstance(answer, Exception):
        raise answer
    return json.loads(answer)["examples"]


def short_run(folder, told):
    """Learn all batches, trying again once; tell the number of each step when it is acknowledged."""
    from linsep.errors import DataError
    from linsep.serve.service import Service

    def twice(step):
        try:
            return step()
        except (DataError, OSError) as error:
            if getattr(error, "status", 503) != 503:
                raise
            return step()

    def keep():
        (refused,) = service.keep([[("kept", [2, 2], "a")]])
        if refused is not None:
            raise refused

    service = twice(lambda: Service(folder))
    answers = []
    for number, step in enumerate(
        (lambda: learn(service, 0), keep, lambda: learn(service, 1), service.snapshot, lambda: learn(service, 2))
    ):
        before = service.number
        answers.append(twice(step))
        assert service.number in (before, *LAST)
        told(number)
    service.close()
    return [answers[0], answers[2], answers[4]]


def check(folder, acknowledged, wanted):
    """Start again on what is left: what was acknowledged is there once, and all the rest can be learned."""
    import linsep
    from linsep.models.progressive import replay
    from linsep.serve.service import Service

    service = Service(folder)
    assert service.number in (0, *LAST)
    steps = [step for step in acknowledged if step in (0, 2, 4)]
    assert service.number >= (LAST[len(steps) - 1] if steps else 0)
    assert [learn(service, 0)] == wanted[:1]
    if 1 not in acknowledged:
        service.keep([[("kept", [2, 2], "a")]])
    assert [learn(service, number) for number in range(3)] == wanted
    assert service.number == LAST[-1]
    service.close()
    found = replay(folder, check=True)
    assert (found.problems, found.same, found.learner.number) == ([], True, LAST[-1])
    X, y = linsep.read(folder).to_arrays()
    assert y.tolist() == ["a", "b", "b", "c", "b"]
    assert X.toarray()[:, :2].tolist() == [[1, 2], [2, -1], [3, 1], [0, 0], [2, 2]]
    return found.learner.bits()


def main(library, mode, first, step, folder):
    """Let the calls of a short run fail in turn, one of so many, each time in a process of its own."""
    import ctypes
    import gc

    from linsep.models.perceptron import Perceptron
    from linsep.models.progressive import ProgressiveLearner, warm_up

    warm_up(ProgressiveLearner(Perceptron(shuffle=False), []))
    disk = ctypes.CDLL(library)
    place = os.path.join(folder, "right")
    disk.fail_at(place.encode(), 10**9, 0)
    wanted = short_run(place, lambda _: None)
    calls = 10**9 - disk.calls_left()
    disk.fail_at(b"", 0, 0)
    bits = check(place, [0, 1, 2, 3, 4], wanted)
    failed = 0
    gc.freeze()  # a child must not copy what is there by now
    gc.disable()
    for n in range(1 + int(first), calls + 1, int(step)):
        place = os.path.join(folder, str(n))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            disk.fail_at(place.encode(), n, MODES[mode])
            good = short_run(place, lambda step, end=writing: os.write(end, bytes([step]))) == wanted
            os._exit(0 if good else 1)
        os.close(writing)
        with open(reading, "rb") as file:
            acknowledged = list(file.read())
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended == (0 if mode in ("full", "broken") else -signal.SIGKILL), (n, ended)
        assert check(place, acknowledged, wanted) == bits, n
        failed += 1
        shutil.rmtree(place)
    print(json.dumps({"calls": calls, "failed": failed}))


if __name__ == "__main__":
    main(*sys.argv[1:])
