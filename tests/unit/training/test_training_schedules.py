"""Schedules: tables of values computed by hand from the papers' and their code's formulas."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.training.schedules import SCHEDULES, schedule

needed = {name: {"epoch_steps": 10} for name in ("maxp", "capreolus", "capreolus-epoch")}


def factors(name: str, step: int, steps: int, **options: Any) -> tuple[float, float]:
    return tuple(schedule(name, options).factors(step, steps))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("epoch", "encoder", "head"),
    [
        (0, 1, 0.125),
        (3, 1, 0.5),
        (7, 1, 1),
        (8, 1, 1),
        (9, 0.5263157894736842, 0.5263157894736842),  # 1 / 1.9: the jump
        (10, 0.5, 0.5),
        (35, 0.2222222222222222, 0.2222222222222222),  # 1 / 4.5
    ],
)
def test_maxp_warms_the_head_up_for_eight_epochs_and_decays_both_from_the_tenth(
    epoch: int, encoder: float, head: float
) -> None:
    for step in (epoch * 256, epoch * 256 + 255):
        assert factors("maxp", step, 36 * 256, epoch_steps=256) == pytest.approx((encoder, head))


@pytest.mark.parametrize(("epoch", "encoder"), [(0, 0.125), (7, 1), (8, 1), (9, 1 / 1.9), (20, 1 / 3)])
def test_capreolus_by_epoch_changes_the_encoders_rate_alone(epoch: int, encoder: float) -> None:
    assert factors("capreolus-epoch", epoch * 7, 70, epoch_steps=7) == pytest.approx((encoder, 1))


@pytest.mark.parametrize(
    ("step", "linear", "exponential"),
    [
        (0, 0.05, 0.05),  # 1 / 20
        (9, 0.5, 0.5),
        (19, 1, 1),
        (20, 1, 1),
        (25, 1 / 1.05, 0.1**0.125),  # half an epoch after the warm-up; the decay period is 4 epochs
        (60, 1 / 1.4, 0.1),
    ],
)
def test_capreolus_by_step_counts_the_decay_from_the_end_of_the_warm_up(
    step: int, linear: float, exponential: float
) -> None:
    options: dict[str, Any] = {"epoch_steps": 10, "warmup": 2}
    assert factors("capreolus", step, 100, **options) == pytest.approx((linear, 1))
    options |= {"kind": "exponential", "decay_epochs": 4, "head": True}
    assert factors("capreolus", step, 100, **options) == pytest.approx((exponential, exponential))


@pytest.mark.parametrize(
    ("step", "linear", "bert", "electra"),
    [
        (0, 0, 0, 0),
        (5, 0.25, 0.25, 0.24375),  # .25 * .975
        (19, 0.95, 0.95, 0.85975),  # .95 * .905
        (20, 1, 0.9, 0.9),
        (110, 0.5, 0.45, 0.45),
        (199, 1 / 180, 0.005, 0.005),
    ],
)
def test_the_lines_to_zero_differ_in_where_they_begin(step: int, linear: float, bert: float, electra: float) -> None:
    for name, wanted in (("linear", linear), ("linear-bert", bert), ("linear-electra", electra)):
        assert factors(name, step, 200) == pytest.approx((wanted, wanted))


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_without_warm_up_every_schedule_begins_with_the_whole_rate(name: str) -> None:
    options = needed.get(name, {}) | ({} if name == "constant" else {"warmup": 0})
    assert factors(name, 0, 100, **options) == (1, 1)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_factors_stay_between_nothing_and_the_whole_rate(name: str) -> None:
    found = [factors(name, step, 97, **needed.get(name, {})) for step in range(97)]
    assert all(0 <= factor <= 1 for pair in found for factor in pair)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("maxq", {}, "unknown schedule (got 'maxq'); did you mean 'maxp'?"),
        ("maxp", {}, "epoch_steps: Field required"),
        ("linear", {"warm_up": 0.1}, "did you mean 'warmup'?"),
        ("linear", {"warmup": 1.0}, "less than 1"),
        ("capreolus", {"epoch_steps": 10, "kind": "cosine"}, "kind: "),
        ("capreolus", {"epoch_steps": 0}, "epoch_steps: "),
        ("capreolus", {"epoch_steps": 9, "kind": "exponential", "decay": 1.5}, "decay is at most 1"),
    ],
)
def test_a_wrong_schedule_is_refused_in_one_line(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        schedule(name, options)
    assert says in str(caught.value)


def test_schedules_and_loss_names_need_no_torch() -> None:
    code = "import sys, longrank.training.schedules, longrank.training.loss_terms; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
