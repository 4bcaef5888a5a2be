"""Tokens per second of recent work."""

from __future__ import annotations

import pytest

from longrank.service.speed import Speed


def test_nothing_is_known_at_first() -> None:
    assert Speed().rate(1000.0) is None


def test_the_rate_is_that_of_the_sums_and_not_the_mean_of_rates() -> None:
    speed = Speed()
    speed.add(100, 1.0, now=50.0)
    speed.add(900, 1.0, now=50.0)
    speed.add(0, 2.0, now=50.0)
    assert speed.rate(50.0) == pytest.approx(250.0)


def test_work_of_ten_seconds_ago_counts_half() -> None:
    speed = Speed()
    speed.add(1000, 2.0, now=100.0)
    speed.add(200, 1.0, now=110.0)
    assert speed.rate(110.0) == pytest.approx((500 + 200) / (1.0 + 1.0))


def test_little_work_says_nothing() -> None:
    speed = Speed()
    speed.add(10, 0.4, now=100.0)
    assert speed.rate(100.0) is None
    speed.add(10, 0.2, now=100.0)
    assert speed.rate(100.0) == pytest.approx(20 / 0.6)


def test_what_was_true_an_hour_ago_is_forgotten() -> None:
    speed = Speed()
    speed.add(1000, 10.0, now=0.0)
    assert speed.rate(3600.0) is None
    speed.add(700, 0.7, now=3600.0)
    assert speed.rate(3600.0) == pytest.approx(1000.0)
