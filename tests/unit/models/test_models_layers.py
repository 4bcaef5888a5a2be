"""Students: which layers they keep of their teacher, and that all else is the teacher's."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural


@pytest.mark.parametrize(
    ("count", "of", "kept"),
    [
        (6, 12, [0, 2, 4, 7, 9, 11]),  # DistilBERT's
        (3, 6, [0, 3, 5]),
        (2, 6, [0, 5]),
        (1, 6, [0]),
        (4, 4, [0, 1, 2, 3]),
        (5, 6, [0, 1, 3, 4, 5]),
    ],
)
def test_layers_are_kept_evenly_from_the_first_to_the_last(count: int, of: int, kept: list[int]) -> None:
    from longrank.models.layers import evenly

    assert evenly(count, of) == kept


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
def test_a_student_has_its_teachers_weights_less_whole_layers(family: str, tmp_path: Path) -> None:
    import re

    from transformers import AutoModelForSequenceClassification

    from longrank.models.layers import keep_layers

    n_layers = {"n_layers": 5} if family == "distilbert" else {"num_hidden_layers": 5}
    folder = save_cross_encoder(tmp_path / "teacher", family, **n_layers)
    teacher, student = (AutoModelForSequenceClassification.from_pretrained(folder) for _ in range(2))
    keep_layers(student, 3)
    student.save_pretrained(tmp_path / "student")
    student = AutoModelForSequenceClassification.from_pretrained(tmp_path / "student")
    assert student.config.num_hidden_layers == 3
    theirs, own = teacher.state_dict(), student.state_dict()

    def in_teacher(name: str) -> str:
        return re.sub(r"\.layer\.(\d)\.", lambda found: f".layer.{(0, 2, 4)[int(found[1])]}.", name)

    assert all(values.equal(theirs[in_teacher(name)]) for name, values in own.items())
    assert {in_teacher(name) for name in own} == {n for n in theirs if ".layer.1." not in n and ".layer.3." not in n}


@pytest.mark.parametrize("count", [0, 3])
def test_more_layers_than_there_are_cannot_be_kept_nor_none(count: int, tmp_path: Path) -> None:
    from transformers import AutoModel

    from longrank.models.layers import keep_layers

    with pytest.raises(InputError, match=rf"of 2 layers, 1 to 2 can be kept \(got {count}\)"):
        keep_layers(AutoModel.from_pretrained(save_cross_encoder(tmp_path / "c")), count)


@pytest.mark.parametrize("family", ["albert", "modernbert", "longformer"])
def test_families_whose_layers_are_shared_or_differ_are_refused(family: str, tmp_path: Path) -> None:
    from transformers import AutoModel

    from longrank.models.layers import keep_layers

    with pytest.raises(InputError, match=rf"layers can be removed only from bert, .* \(got '{family}'\)"):
        keep_layers(AutoModel.from_pretrained(save_cross_encoder(tmp_path / "c", family)), 1)
