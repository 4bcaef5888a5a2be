from __future__ import annotations

import gc
import tracemalloc

import numpy as np

from longrank.storage.kept import ENTRY_BYTES, Kept, kept_bytes, key_of


def test_the_values_used_longest_ago_are_dropped_beyond_the_capacity() -> None:
    kept = Kept[str](10 + 2 * ENTRY_BYTES)
    kept.add(b"a", "A", 4)
    kept.add(b"b", "B", 4)
    assert kept.get(b"a") == "A"
    kept.add(b"c", "C", 4)
    assert [kept.get(key) for key in (b"a", b"b", b"c")] == ["A", None, "C"]


def test_a_value_that_is_replaced_frees_its_bytes_and_one_beyond_the_capacity_is_not_kept() -> None:
    kept = Kept[str](10 + 2 * ENTRY_BYTES)
    for n in range(5):
        kept.add(b"a", str(n), 6)
    kept.add(b"b", "B", 4)
    assert (kept.get(b"a"), kept.get(b"b")) == ("4", "B")
    kept.add(b"c", "C", 11 + 2 * ENTRY_BYTES)
    assert [kept.get(key) for key in (b"a", b"b", b"c")] == [None, None, None]
    kept.add(b"a", "A", 10)
    assert kept.get(b"a") == "A"


def test_keys_tell_lists_of_texts_apart() -> None:
    keys = {key_of(texts) for texts in (["ab"], ["a", "b"], ["a", "b", ""], ["", "ab"], [])}
    assert len(keys) == 5


def test_many_small_values_take_no_more_memory_than_the_capacity() -> None:
    def added(kept: Kept[object], first: int) -> None:
        for n in range(first, first + 3000):
            rows = np.full((1, 3), n, np.int32)
            kept.add(b"%016d" % n, (rows, n, "title"), rows.nbytes)

    capacity = 1000 * ENTRY_BYTES
    tracemalloc.start()
    try:
        kept = Kept[object](capacity)
        added(kept, 0)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        added(kept, 3000)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after < 1.2 * capacity
    assert abs(after - before) < 0.2 * capacity
    assert 0.9 * capacity < kept.n_bytes <= capacity


def test_all_kept_bytes_are_counted_until_their_owner_is_gone() -> None:
    gc.collect()
    before = kept_bytes()
    first, second = Kept[str](10_000), Kept[str](10_000)
    first.add(b"a", "A", 100)
    second.add(b"b", "B", 200)
    assert kept_bytes() - before == 300 + 2 * ENTRY_BYTES
    del second
    gc.collect()
    assert kept_bytes() - before == 100 + ENTRY_BYTES
