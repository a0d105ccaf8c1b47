"""Compiled code that cannot be kept on disk: a note, never a failure."""

import os
import subprocess
import sys

import pytest

CODE = """
import part
from linsep.compiling import compiled, seconds

@compiled(part.__file__, error_model="numpy")
def plus(x):
    return x + part.one()

print(plus(1), seconds() > 0)
"""
PART = "from numba.extending import register_jitable\n\n@register_jitable\ndef one():\n    return {}\n"


def run(folder, printed="2 True", one="1", **changes):
    path = folder / "code.py"
    if not path.exists():
        path.write_text(CODE)
    (folder / "part.py").write_text(PART.format(one))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(folder)} | changes
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{printed}\n"), done.stderr
    return done.stderr


@pytest.mark.slow
def test_code_is_kept_beside_the_source(tmp_path):
    assert run(tmp_path) == ""
    assert any(name.endswith(".nbc") for name in os.listdir(tmp_path / "__pycache__"))
    run(tmp_path, "11 True", one="10")  # a change of an inlined file is noticed


def test_code_is_kept_in_the_folder_of_the_user_where_it_cannot_be_beside(tmp_path):
    (tmp_path / "__pycache__").write_text("in the way")
    assert run(tmp_path, XDG_CACHE_HOME=str(tmp_path / "mine")).count("Warning: linsep keeps compiled code in") == 1
    assert list((tmp_path / "mine").rglob("*.nbc"))


def test_no_folder_for_a_cache_costs_one_note(tmp_path):
    nowhere = "numba.core.caching.ZipCacheLocator"  # which takes nothing but source in an archive
    assert run(tmp_path, NUMBA_CACHE_LOCATOR_CLASSES=nowhere).count("linsep cannot keep compiled code") == 1


def test_a_full_disk_costs_one_note(tmp_path):
    path = tmp_path / "code.py"
    full = "import numba.core.caching as c\ndef full(*_):\n    raise OSError(28, 'No space left on device')\n"
    path.write_text(full + "c.IndexDataCacheFile._save_data = full\n" + CODE)
    (tmp_path / "part.py").write_text(PART.format(1))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2 True\n"), done.stderr
    assert done.stderr.count("No space left on device") == 1


@pytest.mark.slow
def test_an_index_that_names_what_is_gone_is_written_anew(tmp_path):
    run(tmp_path)
    (index,) = (tmp_path / "__pycache__").glob("*.nbi")
    content = index.read_bytes()
    version = content[: content.index(b".", content.index(b"\x94")) + 1]  # a pickle of its own
    index.write_bytes(version + b"cbuiltins\nno_such_name\n.")
    run(tmp_path)
    assert b"no_such_name" not in index.read_bytes()


@pytest.mark.slow
def test_processes_that_compile_at_the_same_time_write_files_of_their_own(tmp_path):
    """Neither knows what the other has compiled: the index may lose an entry, and never names the other's code."""
    path, nothing = (
        tmp_path / "code.py",
        "import numba.core.caching as c\nc.IndexDataCacheFile._load_index = lambda _: {}\n",
    )
    path.write_text(nothing + CODE.replace("print", "plus(0.5)\nprint"))
    run(tmp_path)
    assert len(list((tmp_path / "__pycache__").glob("*.nbc"))) == 2
