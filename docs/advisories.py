"""Ask a service for known vulnerabilities of a list of packages, by pip-audit: the last step of `make audit`.

python docs/advisories.py SERVICE PACKAGES PIP_AUDIT    exit 1, with one line, if the service cannot be asked

Without its answers pip-audit ends in a traceback (osv, esms) or says that the first package is not on PyPI (pypi).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

PROBES: Mapping[str, str] = {
    "pypi": "https://pypi.org/pypi/pip/24.0/json",
    "osv": "https://api.osv.dev/v1/vulns/PYSEC-2023-228",
    "esms": "https://advisories.ecosyste.ms/api/v1/advisories?ecosystem=pypi&package_name=pip",
}
"""Service of pip-audit -> an address that it answers; PyPI's mirrors may have the files alone."""
_SECONDS = 20


def fault_of(url: str) -> str | None:
    """Return why a service does not answer an address; None if it does."""
    try:
        with urlopen(url, timeout=_SECONDS):  # noqa: S310 - the addresses above
            return None
    except HTTPError as error:
        return f"status {error.code}"
    except (URLError, OSError) as error:
        return str(getattr(error, "reason", error))


def audit(service: str, packages: str, pip_audit: str) -> str | int:
    """Return the exit status of pip-audit, or the line that says why nothing was audited."""
    if service not in PROBES:
        return f"ADVISORIES takes {', '.join(PROBES)} (got '{service}')"
    if fault := fault_of(PROBES[service]):
        others = ", ".join(f"ADVISORIES={name}" for name in PROBES if name != service)
        return f"no audit: {PROBES[service]} cannot be read ({fault}); SBOM and licences are written; try {others}"
    options = ["--strict", "--vulnerability-service", service, "--no-deps", "--disable-pip", "-r", packages]
    done = subprocess.run([pip_audit, *options], check=False, stderr=subprocess.PIPE, text=True)
    if "Traceback (most recent call last)" in done.stderr:
        return f"no audit: pip-audit failed ({done.stderr.strip().splitlines()[-1][:300]})"
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(audit(*sys.argv[1:]))
