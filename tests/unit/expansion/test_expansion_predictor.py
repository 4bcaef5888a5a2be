"""A model that predicts queries: what comes out of a text, whatever is read beside it, and which models are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError, LongRankError
from longrank.expansion.decoding import Decoding, TextKey
from longrank.expansion.predictor import QueryPredictor
from longrank.networks.model_files import find_model
from longrank.types import Notes
from tiny_language_models import save_seq2seq

pytestmark = pytest.mark.neural

TEXTS = [
    "the king of the river",
    "",
    "money",
    " \n",
    "what is the long war in the north and the dog",
    "the bank",
    "war " * 60,
]
KEYS = [TextKey(f"d{n // 2}", n % 2) for n in range(len(TEXTS))]


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_seq2seq(tmp_path_factory.mktemp("predictor") / "t5")


def predictor(folder: Path, notes: Notes | None = None, **options: Any) -> QueryPredictor:
    decoding = options.pop("decoding", Decoding(n=3, max_query_tokens=10))
    return QueryPredictor(find_model(str(folder)), decoding, device="cpu", notes=notes or Notes(), **options)


def test_queries_are_those_that_transformers_decodes_and_blank_texts_have_none(t5: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(t5), AutoTokenizer.from_pretrained(t5)
    found = predictor(t5, decoding=Decoding("beam", 3, max_query_tokens=10)).predict(TEXTS, KEYS)
    for text, one in zip(TEXTS, found, strict=True):
        if not text.strip():
            assert one == ((), False, 0, 0)
            continue
        read = tokenizer(text, truncation=True, return_tensors="pt")
        rows = network.generate(**read, num_beams=3, num_return_sequences=3, max_new_tokens=10, do_sample=False)
        theirs = [" ".join(one.split()) for one in tokenizer.batch_decode(rows, skip_special_tokens=True)]
        assert one.queries == tuple(theirs)
    assert [one.text_cut for one in found] == [False] * 6 + [True]


@pytest.mark.parametrize("method", ["topk", "beam"])
def test_nothing_depends_on_the_batch_or_the_number_of_threads(t5: Path, method: str) -> None:
    import torch

    decoding = Decoding(method, n=3, max_query_tokens=10)
    expected = predictor(t5, decoding=decoding).predict(TEXTS, KEYS)
    assert predictor(t5, decoding=decoding, batch=1).predict(TEXTS, KEYS) == expected
    assert predictor(t5, decoding=decoding).predict(TEXTS[::-1], KEYS[::-1])[::-1] == expected
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert predictor(t5, decoding=decoding, batch=6).predict(TEXTS, KEYS) == expected
    finally:
        torch.set_num_threads(threads)


@pytest.mark.usefixtures("rounded_products")
def test_rounded_products_of_the_calling_program_are_noted(t5: Path) -> None:
    notes = Notes()
    predictor(t5, notes).predict(["where is the river"], KEYS[:1])
    assert "this program lets PyTorch round float32 products (precision '" in "\n".join(notes.lines())


def test_what_is_cut_or_left_out_is_counted(t5: Path) -> None:
    one = predictor(t5, decoding=Decoding(n=100, k=100, max_query_tokens=8))
    network = one._network
    (found,) = one.predict(["the king"], [TextKey("d", 0)])
    ids = [one._ended(row[1:]) for row in _rows(one, "the king", TextKey("d", 0))]
    assert found.n_cut == sum(len(row) == 8 and cut for row, cut in ids) > 0
    assert found.n_cut < 100  # some end by themselves
    assert network.generation_config.eos_token_id not in {token for row, _ in ids for token in row}
    empty = [not one._tokenizer.decode(row, skip_special_tokens=True).strip() for row, _ in ids]
    assert found.n_empty == sum(empty) == 100 - len(found.queries)
    assert all(query == " ".join(query.split()) for query in found.queries)


def _rows(one: QueryPredictor, text: str, key: TextKey) -> list[list[int]]:
    from longrank.expansion.decoding import written

    features = one._feeder.features(list(one._feeder.packer.texts([text])))
    return written(one._network, features, [key], one.decoding)[0]


def test_where_memory_runs_out_halves_are_read(t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes()
    one = predictor(t5, notes)
    expected, own = one.predict(TEXTS, KEYS), one._network.generate

    def scarce(limit: int) -> Any:
        def generate(input_ids: Any, **others: Any) -> Any:
            if len(input_ids) > limit:
                raise MemoryError("no")
            return own(input_ids=input_ids, **others)

        return generate

    monkeypatch.setattr(one._network, "generate", scarce(2))
    assert one.predict(TEXTS, KEYS) == expected
    assert notes["batches halved because memory ran out; smaller ones are faster"] > 0
    monkeypatch.setattr(one._network, "generate", scarce(0))
    with pytest.raises(LongRankError, match="out of memory with a batch of one text"):
        one.predict(TEXTS, KEYS)


def test_all_that_queries_depend_on_is_in_the_fingerprint(t5: Path) -> None:
    decodings = [
        Decoding(),
        Decoding("beam"),
        Decoding(n=9),
        Decoding(k=9),
        Decoding(seed=9),
        Decoding(max_query_tokens=9),
    ]
    prints = {predictor(t5, decoding=one).fingerprint for one in decodings}
    prints |= {predictor(t5, decoding=Decoding(), **one).fingerprint for one in ({"batch": 9}, {"max_tokens": 9})}
    assert len(prints) == 8


def copied(t5: Path, folder: Path, **config: Any) -> Path:
    shutil.copytree(t5, folder, dirs_exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return folder


def test_models_that_cannot_predict_are_refused_in_a_line(t5: Path, tmp_path: Path) -> None:
    from tiny_models import save_encoder

    with pytest.raises(InputError, match=r"is not a sequence-to-sequence model \(got 'bert'\); use a model such as T5"):
        predictor(save_encoder(tmp_path / "encoder"))
    shutil.copytree(t5, tmp_path / "bare", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(InputError, match="bare: the model's tokenizer knows no words: its files are missing"):
        predictor(tmp_path / "bare")
    with pytest.raises(InputError, match=r"config.json names no pad_token_id"):
        predictor(copied(t5, tmp_path / "pad", pad_token_id=None))
    with pytest.raises(InputError, match=r"'.*bart' writes 48 tokens at most \(got 'max_query_tokens=49'\)"):
        predictor(save_seq2seq(tmp_path / "bart", "Bart", 48), decoding=Decoding(max_query_tokens=49))
    longest = predictor(tmp_path / "bart", decoding=Decoding(max_query_tokens=48))
    assert longest.predict(TEXTS, KEYS)[0].queries
    with pytest.raises(InputError, match="the model cannot be loaded"):
        predictor(copied(t5, tmp_path / "odd", model_type="no-such-thing"))


def test_token_types_of_a_tokenizer_are_not_given_to_a_model_that_reads_none(t5: Path, tmp_path: Path) -> None:
    copy = copied(t5, tmp_path / "types")
    settings = json.loads((copy / "tokenizer_config.json").read_text())
    settings["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    (copy / "tokenizer_config.json").write_text(json.dumps(settings))
    assert predictor(copy).predict(TEXTS, KEYS) == predictor(t5).predict(TEXTS, KEYS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch": 0}, "batch must be 1 or more"),
        ({"max_tokens": 4}, "max_tokens must be between 8 and 48"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"decoding": Decoding(n=0)}, "n must be 1 or more"),
    ],
)
def test_options_out_of_range_are_refused(t5: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        predictor(t5, **options)
