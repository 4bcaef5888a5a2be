"""Folders in object stores: ``s3://bucket/prefix``, and others by fsspec.

    PREFIX/files/<sha256>   content of a file; it never changes
    PREFIX/files/<sha256>-<random>   the same, where another process may yet remove the object of the plain name
    PREFIX/manifest.json    names every file of the folder with its size and SHA-256; replaced in one step, after these

    CACHE/remote/NAME/version-<digest>/        a local copy, whole and compared with its checksums
    CACHE/remote/NAME/version-<digest>.part/   a copy that is being fetched, or was interrupted
    CACHE/remote/NAME/version-<digest>.json    the manifest of either

`local` returns the folder to read from, and `changing` the folder to write into, for a place that may be a path or an
address. Files and folders of a name that begins with a dot stay on the machine that wrote them.
"""

from longrank.storage.remote.addresses import address_of as address_of
from longrank.storage.remote.changes import changing as changing
from longrank.storage.remote.changes import upload as upload
from longrank.storage.remote.copies import check_no_copy as check_no_copy
from longrank.storage.remote.copies import check_objects as check_objects
from longrank.storage.remote.copies import exists as exists
from longrank.storage.remote.copies import local as local
from longrank.storage.remote.copies import newest as newest
