"""Java classes of Anserini, from pyserini; only this module starts Java.

pyserini calls Lucene in this process. Its failures depend on its version and on the installed Java, and some end the
process without an exception (a Java without a required module). So a separate process tries first, and its output
becomes a one-line error. The bridge to Java (pyjnius) crashes if several threads call the same method, so one thread
makes all calls.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, TypeVar

from longrank.errors import InputError, MissingExtra

T = TypeVar("T")
SEARCHER = "io.anserini.search.SimpleSearcher"

_FIX = "set JAVA_HOME: pyserini 0.22.1 takes Java 11 or later, 1.6.0 a JDK from 21 with jdk.incubator.vector"
_SYMPTOMS = (
    ("UnsupportedClassVersionError", "this Java is too old for pyserini {version}"),
    ("Module jdk.incubator.vector not found", "this Java lacks jdk.incubator.vector, which pyserini {version} needs"),
    ("javac", "no Java was found"),
    ("libjvm", "no Java was found"),
    ("JAVA_HOME", "no Java was found"),
)
"""(text in the output of a failed start, message); the first match counts."""


class Anserini(NamedTuple):
    """A started Java.

    Attributes:
        load: name of a Java class -> the class.
        fault: type of Java's exceptions.
        thread: the thread that makes all calls.
    """

    load: Callable[[str], Any]
    fault: type[Exception]
    thread: ThreadPoolExecutor

    def call(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work` in the thread of Java; return its result or raise its exception."""
        return self.thread.submit(work, *arguments).result()


@cache
def anserini() -> Anserini:
    """Start Java, once per process.

    Raises:
        MissingExtra: pyserini is not installed.
        InputError: no Java that fits this pyserini; names the versions that fit.
    """
    try:
        installed = version("pyserini")
    except PackageNotFoundError:
        raise MissingExtra("searching a Lucene index", "lucene") from None
    _try(installed)
    thread = ThreadPoolExecutor(1, "java")
    autoclass = thread.submit(import_module, "pyserini.pyclass").result().autoclass  # starts Java
    return Anserini(autoclass, import_module("jnius").JavaException, thread)


def _try(installed: str) -> None:
    """Load the searcher in a separate process."""
    code = f"from pyserini.pyclass import autoclass; autoclass({SEARCHER!r})"
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if process.returncode == 0:
        return
    output = process.stdout + process.stderr
    for symptom, message in _SYMPTOMS:
        if symptom in output:
            raise InputError(message.format(version=installed), fix=_FIX)
    last = next((line for line in reversed(output.splitlines()) if line.strip()), f"exit code {process.returncode}")
    raise InputError(f"pyserini {installed} does not start", got=last.strip(), fix=_FIX)
