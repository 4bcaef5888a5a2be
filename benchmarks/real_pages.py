"""Compare the pages of passages with pages that were looked up by eye, in manuals of Debian packages.

    apt-get install developers-reference libtasn1-doc shared-mime-info bash-doc debian-reference-en maint-guide \\
        debmake-doc gnuplot-doc
    python -m benchmarks.real_pages FILE.pdf...

Indexes the files, and finds the words of `real_pages.toml` in their texts. Prints one JSON object; the exit code is 1
if a page is another, or the words are missing.
"""

from __future__ import annotations

import json
import re
import sys
import time
import tomllib
from pathlib import Path

from longrank.index import Index
from longrank.types.pages import Pages


def main() -> None:
    began = time.perf_counter()
    index = Index.build([str(Path(name).resolve()) for name in sys.argv[1:]])
    seconds = time.perf_counter() - began
    by_name = {Pages(index.metadata(document.doc_id)).source.rpartition("/")[2]: document for document in index}
    wrong, right = [], 0
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["passage"]:
        document = by_name[row["file"]]
        pages = Pages(index.metadata(document.doc_id))
        for page, words in row["pages"].items():
            found = re.finditer(r"\s+".join(map(re.escape, words.split())), document.text)
            places = [pages.page(match.start()) for match in found]
            right += int(page) in places
            wrong += [] if int(page) in places else [f"{row['file']}, p. {page}: {words!r} on pages {places}"]
    print(json.dumps({"files": len(by_name), "seconds": round(seconds, 1), "right": right, "wrong": wrong}, indent=1))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
