"""`tune` and `weigh` on a disk that fails at any call: one line, nothing half written, the same outcome at the end."""

from __future__ import annotations

import pytest

import tunable
from evidences import evidence, write_evidence
from failing_disks import FailingDisk, check, every_call


@pytest.mark.slow
@pytest.mark.parametrize("step", [5])
def test_an_interrupted_tuning_ends_with_the_same_outcome(disk: FailingDisk, step: int) -> None:
    tunable.write_inputs(disk.before)
    command = "tune index queries.jsonl qrels.txt -o out -m RR --workers 1 --grid b=0:1:0.5"
    first, outcomes = disk.outcomes(command, step, check="check out")
    for outcome in outcomes:
        check(outcome, first)
        # The journal of settings has checksums of its own.
        assert outcome["check"] in ((0,) if "out/manifest.json" in outcome["left"] else (2, 3)), outcome


@every_call(100)
def test_weights_after_a_failure_are_those_of_an_undisturbed_call(disk: FailingDisk, step: int) -> None:
    parts = [[evidence(f"d{m}", [0.1 * m + 0.01 * n], query_id=f"q{n}") for m in range(3)] for n in range(4)]
    write_evidence(disk.before / "e.evidence", parts)
    lines = {"a.run": "q{0} Q0 d{1} {2} {3} t\n", "a.qrels": "q{0} 0 d{1} {4}\n"}
    for name, line in lines.items():
        rows = (line.format(n, m, m + 1, 3 - m, int(m == n % 3)) for n in range(4) for m in range(3))
        (disk.before / name).write_text("".join(rows))
    command = "weigh a.qrels a.run e.evidence -o out --grid alpha=0:1:0.5 --make-folds 2"
    first, outcomes = disk.outcomes(command, step, check="check out")
    for outcome in outcomes:
        check(outcome, first)
        assert (outcome["check"] == 0) == ("out/manifest.json" in outcome["left"]), outcome
