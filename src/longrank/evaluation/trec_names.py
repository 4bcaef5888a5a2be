"""Map trec_eval's measures to ir_measures' names, and list the measures that LongRank does not compute."""

from __future__ import annotations

_CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_TENTHS = tuple(f"{tenth / 10:.2f}" for tenth in range(11))

TREC_PLAIN = {
    "map": "AP",
    "ndcg": "nDCG",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "infAP": "infAP",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "set_P": "SetP",
    "set_relative_P": "SetRelP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
}
"""trec_eval's measures without a parameter -> name in ir_measures."""

TREC_CUT = {
    "P": ("P", _CUTOFFS),
    "recall": ("R", _CUTOFFS),
    "map_cut": ("AP", _CUTOFFS),
    "ndcg_cut": ("nDCG", _CUTOFFS),
    "success": ("Success", ("1", "5", "10")),
    "iprec_at_recall": ("IPrec", _TENTHS),
}
"""trec_eval's families -> name in ir_measures, and trec_eval's default parameters."""

TREC_GROUPS = {
    "official": [
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank"),
        *("iprec_at_recall", "P"),
    ],
    "all_trec": [*TREC_PLAIN, *TREC_CUT],
}
"""trec_eval's groups, without the measures of `TREC_NOT_COVERED`."""

TREC_NOT_COVERED = {
    "runid": "the run's tag, not a measure; it names the row",
    "gm_map": "a geometric mean over queries; ir_measures has arithmetic means only",
    "gm_bpref": "a geometric mean over queries",
    "Rprec_mult": "precision at multiples of R; not in ir_measures",
    "utility": "linear utility; not in ir_measures",
    "11pt_avg": "the mean of iprec_at_recall 0 to 1, which are covered one by one",
    "binG": "trec_eval's experimental G; not in ir_measures",
    "G": "trec_eval's experimental G; not in ir_measures",
    "ndcg_rel": "nDCG averaged at relevant ranks; not in ir_measures",
    "Rndcg": "nDCG at R; not in ir_measures",
    "relative_P": "precision over the best possible precision; only set_relative_P is in ir_measures",
    "num_nonrel_judged_ret": "a count that is not in ir_measures",
    "rbp": "no provider that LongRank uses has RBP",
    "rbp_resid": "the residual of rbp; not in ir_measures",
    "unj": "share of unjudged documents; Judged@k is its complement where k documents are retrieved",
    "relstring": "a string of grades, not a number",
}
"""Numbers of trec_eval that LongRank does not compute -> reason."""
