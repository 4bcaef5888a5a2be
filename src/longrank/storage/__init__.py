"""Files that survive a crash: each is whole or absent at any time.

- a *file* (`atomic_write`): written under a temporary name, synced, then renamed;
- a *folder* (`write_manifest`, `open_manifest`, `verify`): valid only with its manifest, which is
  written last and names the size and SHA-256 of every other file;
- a *journal* (`Journal`, `read_journal`): records with checksums appended to one file; a torn tail is cut
  back to the last commit mark;
- *values by key* (`longrank.storage.key_values`, imported only when used, because it imports SQLite): added in
  transactions by several processes;
- an *output folder* (`longrank.storage.workplace`): checked, locked, and resumed only with the same identity.
"""

from longrank.storage.files import atomic_write, check_folder, check_parent, check_writable, lock, sync_folder
from longrank.storage.journal import Journal, read_header, read_journal
from longrank.storage.manifests import (
    MANIFEST,
    digest_of,
    open_manifest,
    read_manifest,
    sha256_of,
    verify,
    write_manifest,
)

__all__ = [
    "MANIFEST",
    "Journal",
    "atomic_write",
    "check_folder",
    "check_parent",
    "check_writable",
    "digest_of",
    "lock",
    "open_manifest",
    "read_header",
    "read_journal",
    "read_manifest",
    "sha256_of",
    "sync_folder",
    "verify",
    "write_manifest",
]
