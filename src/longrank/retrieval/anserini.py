"""The Java classes of Anserini, as pyserini brings them; only here a Java machine is started.

pyserini keeps Lucene in one jar and calls it in this process. What goes wrong on the way there depends on
its version and on the Java that is found, and some of it ends the process without an exception (a Java
without a module that was asked for). So a process of its own tries first, and its last words become one line.
The bridge to Java (pyjnius) crashes when several threads call the same method, so one thread makes all calls.
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

_FITS = "set JAVA_HOME: pyserini 0.22.1 takes Java 11 or later, 1.6.0 a JDK from 21 with jdk.incubator.vector"
_SYMPTOMS = (
    ("UnsupportedClassVersionError", "this Java is too old for pyserini {version}"),
    ("Module jdk.incubator.vector not found", "this Java lacks jdk.incubator.vector, which pyserini {version} needs"),
    ("javac", "no Java was found"),
    ("libjvm", "no Java was found"),
    ("JAVA_HOME", "no Java was found"),
)
"""What the words of a failed start mean; the first that is found counts."""


class Anserini(NamedTuple):
    """A started Java.

    Attributes:
        load: turns the name of a Java class into the class.
        fault: what Java throws.
        thread: makes all calls.
    """

    load: Callable[[str], Any]
    fault: type[Exception]
    thread: ThreadPoolExecutor

    def call(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what `work` returns; raises what it raises."""
        return self.thread.submit(work, *arguments).result()


@cache
def anserini() -> Anserini:
    """Start Java, once per process.

    Raises:
        MissingExtra: pyserini is not installed.
        InputError: there is no Java that this pyserini runs on; says which it needs.
    """
    try:
        installed = version("pyserini")
    except PackageNotFoundError:
        raise MissingExtra("searching a Lucene index", "lucene") from None
    _try(installed)
    thread = ThreadPoolExecutor(1, "java")
    autoclass = thread.submit(import_module, "pyserini.pyclass").result().autoclass  # starts Java, with pyserini's jar
    return Anserini(autoclass, import_module("jnius").JavaException, thread)


def _try(installed: str) -> None:
    """Load the searcher in another process."""
    code = f"from pyserini.pyclass import autoclass; autoclass({SEARCHER!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return
    words = done.stdout + done.stderr
    for symptom, meaning in _SYMPTOMS:
        if symptom in words:
            raise InputError(meaning.format(version=installed), fix=_FITS)
    last = next((line for line in reversed(words.splitlines()) if line.strip()), f"exit code {done.returncode}")
    raise InputError(f"pyserini {installed} does not start", got=last.strip(), fix=_FITS)
