"""A command of a recipe ends with the process that runs the recipe, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = """
import signal, sys
from longrank.reproduction.phases import run_in_new_process
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
run_in_new_process(sys.argv[1:], "1")
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_command_ends_with_the_process_that_started_it(tmp_path: Path, end: signal.Signals) -> None:
    judgments = tmp_path / "qrels"
    os.mkfifo(judgments)
    worker = subprocess.Popen([sys.executable, "-c", RUN, "evaluate", str(judgments), str(judgments)])
    with judgments.open("wb", buffering=0) as writing:  # waits until the command reads
        worker.send_signal(end)
        assert worker.wait(60) != 0
        until = time.monotonic() + 60
        with pytest.raises(BrokenPipeError):  # nobody reads any more
            while time.monotonic() < until:
                writing.write(b"\n")
                time.sleep(0.05)
