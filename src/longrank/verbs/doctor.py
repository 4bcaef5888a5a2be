"""Describe this installation and machine: the work of ``longrank doctor``."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from longrank.engines.versions import version_of
from longrank.small_files import size_text
from longrank.storage.cache import cache_folder, entries, size_of

_PACKAGES = ("numpy", "scipy", "numba", "torch", "transformers", "sentence-transformers", "tokenizers", "safetensors")
_INSTRUCTIONS = (  # flag of /proc/cpuinfo; its name; its use
    ("avx2", "AVX2", "float32"),
    ("avx512f", "AVX-512", "float32, twice as wide"),
    ("avx512_vnni", "AVX-512 VNNI", "int8"),
    ("avx_vnni", "AVX VNNI", "int8"),
    ("avx512_bf16", "AVX-512 BF16", "bf16"),
    ("amx_tile", "AMX", "bf16 and int8"),
)
_HUB, _HUB_SECONDS = "https://huggingface.co", 3.0


class Finding(NamedTuple):
    """A line of the description: a group such as ``packages``, a name, and its state."""

    group: str
    name: str
    state: str


def doctor(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield versions, extras, instructions of the processor, GPU, Java, caches and access to the hub.

    Args:
        environment: the environment variables.

    Example:
        >>> next(doctor({})).name
        'longrank'
    """
    yield Finding("versions", "longrank", version_of("longrank") or "not installed: run from the sources")
    yield Finding("versions", "python", f"{platform.python_version()} at {sys.executable}")
    yield Finding("versions", "system", platform.platform())
    for package in _PACKAGES:
        yield Finding("versions", package, version_of(package) or "not installed")
    yield from _extras()
    yield from _processor()
    yield Finding("machine", "GPU", _gpu())
    yield Finding("machine", "Java", _java())
    yield from _caches(environment)
    yield Finding("network", "Hugging Face hub", _hub(environment))


def _extras() -> Iterator[Finding]:
    """Yield each extra with its missing packages."""
    try:
        names, requirements = metadata("longrank").get_all("Provides-Extra") or [], requires("longrank") or []
    except PackageNotFoundError:
        return
    for name in names:
        needed = [line for line in requirements if re.search(rf"extra == .{name}.$", line.strip())]
        packages = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed]
        missing = [package for package in packages if version_of(package) is None]
        yield Finding("extras", name, f"missing: {', '.join(missing)}" if missing else "installed")


def _processor() -> Iterator[Finding]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    values = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    yield Finding("machine", "processor", values.get("model name") or platform.processor() or platform.machine())
    flags = values.get("flags", "").split()
    found = [f"{name} ({use})" for flag, name, use in _INSTRUCTIONS if flag in flags]
    if flags:
        yield Finding("machine", "instructions", ", ".join(found) or "none that speed models up")
        bf16 = "fast" if {"avx512_bf16", "amx_tile"} & {*flags} else "emulated, so LongRank refuses it"
        int8 = (
            "fast" if {"avx512_vnni", "avx_vnni", "amx_tile"} & {*flags} else "works, without instructions of its own"
        )
        yield Finding("machine", "bf16", bf16)
        yield Finding("machine", "int8", int8)


def _gpu() -> str:
    try:
        import torch
    except ImportError:
        return "unknown: PyTorch is not installed"
    if torch.cuda.is_available():
        return ", ".join(torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count()))
    return "Apple (mps)" if torch.backends.mps.is_available() else "none that PyTorch can use"


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        return "none; only lucene: indexes need it"
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not start: {error}"
    return (done.stderr or done.stdout).strip().partition("\n")[0] or java


def _caches(environment: Mapping[str, str]) -> Iterator[Finding]:
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(environment.get("HF_HUB_CACHE") or home / "hub")
    yield Finding("caches", "longrank", f"{cache_folder()}: {size_text(sum(entries().values()))}")
    for name, folder in (("Hugging Face", hub), ("ir_datasets", Path.home() / ".ir_datasets")):
        yield Finding("caches", name, f"{folder}: {size_text(size_of(folder)) if folder.is_dir() else 'none'}")


def _hub(environment: Mapping[str, str]) -> str:
    if environment.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        return "not asked: HF_HUB_OFFLINE is set, so models must be in the cache"
    address = environment.get("HF_ENDPOINT") or _HUB
    if not address.startswith(("https://", "http://")):
        return f"HF_ENDPOINT is no address: {address}"
    try:
        with urlopen(address, timeout=_HUB_SECONDS):  # noqa: S310 - http or https, as checked above
            return f"{address} answers"
    except (URLError, OSError, ValueError) as error:
        return (
            f"{address} cannot be reached ({getattr(error, 'reason', error)}); models must be folders or in the cache"
        )
