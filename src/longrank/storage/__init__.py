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

from longrank.storage.files import Stamp as Stamp
from longrank.storage.files import atomic_write as atomic_write
from longrank.storage.files import changed as changed
from longrank.storage.files import check_folder as check_folder
from longrank.storage.files import check_parent as check_parent
from longrank.storage.files import check_writable as check_writable
from longrank.storage.files import stamp_of as stamp_of
from longrank.storage.files import sync_folder as sync_folder
from longrank.storage.files import unchanged as unchanged
from longrank.storage.files import written_state as written_state
from longrank.storage.journal import Journal as Journal
from longrank.storage.journal import read_header as read_header
from longrank.storage.journal import read_journal as read_journal
from longrank.storage.locks import lock as lock
from longrank.storage.locks import lock_in_turn as lock_in_turn
from longrank.storage.manifests import MANIFEST as MANIFEST
from longrank.storage.manifests import check_present as check_present
from longrank.storage.manifests import damaged as damaged
from longrank.storage.manifests import digest_of as digest_of
from longrank.storage.manifests import missing as missing
from longrank.storage.manifests import open_manifest as open_manifest
from longrank.storage.manifests import read_manifest as read_manifest
from longrank.storage.manifests import seal as seal
from longrank.storage.manifests import sealed_files as sealed_files
from longrank.storage.manifests import sha256_of as sha256_of
from longrank.storage.manifests import verify as verify
from longrank.storage.manifests import write_manifest as write_manifest
