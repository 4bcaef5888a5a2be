from __future__ import annotations

from longrank.storage.kept import Kept, key_of


def test_the_values_used_longest_ago_are_dropped_beyond_the_capacity() -> None:
    kept = Kept[str](10)
    kept.add(b"a", "A", 4)
    kept.add(b"b", "B", 4)
    assert kept.get(b"a") == "A"
    kept.add(b"c", "C", 4)
    assert [kept.get(key) for key in (b"a", b"b", b"c")] == ["A", None, "C"]


def test_a_value_that_is_replaced_frees_its_bytes_and_one_beyond_the_capacity_is_not_kept() -> None:
    kept = Kept[str](10)
    for n in range(5):
        kept.add(b"a", str(n), 6)
    kept.add(b"b", "B", 4)
    assert (kept.get(b"a"), kept.get(b"b")) == ("4", "B")
    kept.add(b"c", "C", 11)
    assert [kept.get(key) for key in (b"a", b"b", b"c")] == [None, None, None]
    kept.add(b"a", "A", 10)
    assert kept.get(b"a") == "A"


def test_keys_tell_lists_of_texts_apart() -> None:
    keys = {key_of(texts) for texts in (["ab"], ["a", "b"], ["a", "b", ""], ["", "ab"], [])}
    assert len(keys) == 5
