from __future__ import annotations

import pytest

from longrank.errors import InputError
from longrank.evaluation.names import at_level, parse_measure, parse_measures
from longrank.evaluation.trec_names import TREC_CUT, TREC_GROUPS, TREC_PLAIN


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("nDCG@10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        (" RR@10 ", "RR@10"),
        ("IPrec@0", "IPrec@0.0"),
        ("SetF(beta=2)", "SetF(beta=2.0)"),
        ("nDCG(gains={1: 3, 2: 7})@5", "nDCG(gains={1:3,2:7})@5"),
        ("P(judged_only=True)@5", "P(judged_only=True)@5"),
        ("map", "AP"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("P_30", "P@30"),
        ("map_cut_100", "AP@100"),
        ("recip_rank", "RR"),
        ("recall_1000", "R@1000"),
        ("success.5", "Success@5"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("num_rel_ret", "NumRet(rel=1)"),
        ("set_relative_P", "SetP(relative=True)"),
    ],
)
def test_both_spellings_name_the_same_measures(name: str, meaning: str) -> None:
    assert str(parse_measure(name)) == meaning


def test_a_family_is_spelled_out_with_trec_evals_own_cutoffs() -> None:
    assert [str(m) for m in parse_measures(["success", "P.5,7,3"])] == [
        *("Success@1", "Success@5", "Success@10"),
        *("P@5", "P@7", "P@3"),
    ]


def test_a_measure_named_twice_is_computed_once() -> None:
    assert [str(m) for m in parse_measures(["map", "AP", "P_5", "P@5"])] == ["AP", "P@5"]


def test_a_group_holds_every_covered_measure() -> None:
    assert len(parse_measures(["all_trec"])) == len(TREC_PLAIN) + sum(len(values) for _, values in TREC_CUT.values())
    assert set(TREC_GROUPS["official"]) <= {*TREC_PLAIN, *TREC_CUT}


def test_a_level_reaches_binary_measures_that_name_none() -> None:
    names = ["AP", "P@5", "AP(rel=3)", "AP(rel=1)", "nDCG@10", "num_ret", "num_rel", "num_rel_ret", "Judged@5"]
    assert [str(parse_measure(name, level=2)) for name in names] == [
        *("AP(rel=2)", "P(rel=2)@5", "AP(rel=3)", "AP", "nDCG@10"),
        *("NumRet", "NumRel(rel=2)", "NumRet(rel=2)", "Judged@5"),
    ]


def test_a_level_reaches_measure_objects_too() -> None:
    assert str(at_level(parse_measure("AP@100"), 2)) == "AP(rel=2)@100"
    assert str(at_level(parse_measure("AP(rel=3)"), 2)) == "AP(rel=3)"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndcg@10", "did you mean 'nDCG@10'?"),
        ("map@100", "did you mean 'AP@100'?"),
        ("ndcg_cu_10", "did you mean"),
        ("xyzzy", "e.g. AP, nDCG@10"),
        ("", "unknown measure"),
        ("P", "is needed, not 9"),
        ("all_trec", "is needed, not 65"),
        ("R", "R needs a cutoff"),
        ("P@0", "cutoff of P must be between 1"),
        ("P_0", "cutoff of P must be between 1"),
        ("P@-3", "cutoff of P must be between 1"),
        ("P@99999999999", "cutoff of P must be between 1"),
        ("P@1.5", "cutoff of P cannot be 1.5"),
        ("P@٣", "cutoff of P cannot be"),
        ("P@ten", "needs a number after its @"),
        ("AP(rel=0)", "rel of AP must be between 1 and 127"),
        ("AP(rel=True)", "rel of AP cannot be True"),
        ("IPrec@1.1", "recall of IPrec must be between 0 and 1"),
        ("IPrec@nan", "recall of IPrec must be between 0 and 1"),
        ("SetF(beta=-1)", "beta of SetF must be between 0"),
        ("nDCG(gains={1: 100000})", "gains of nDCG map whole numbers up to 1000"),
        ("nDCG(gains={1: 'x'})", "gains of nDCG map whole numbers up to 1000"),
        ("nDCG(dcg='ln')", "dcg of nDCG cannot be 'ln'"),
        ("AP(depth=3)", "AP has no depth"),
        ("Bpref@10", "Bpref has no cutoff"),
        ("AP(2)", "parameters of a measure cannot be read"),
        ("AP(rel=__import__('os'))", "parameters of a measure cannot be read"),
        ("AP(**{'rel': 2})", "parameters of a measure cannot be read"),
        ("AP(rel=" + "(" * 5000, "unknown measure"),
        ("AP(rel=" + "(" * 5000 + ")", "parameters of a measure cannot be read"),
        ("AP@1@2", "unknown measure"),
        ("gm_map", "trec_eval's gm_map is not computed: a geometric mean"),
        ("relative_P_5", "trec_eval's relative_P is not computed"),
        ("RBP(p=0.8)", "is not supported"),
        ("RR(judged_only=True)@10", "is not supported"),
        ("alpha_nDCG@10", "is not supported"),
    ],
)
def test_a_wrong_name_is_answered_in_one_line(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_measure(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
