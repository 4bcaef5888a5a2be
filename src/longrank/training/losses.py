"""Loss functions: tensors in, the mean over instances out, always computed in float32.

A group is a query with G documents, the relevant document first; a pair is a group of two.

    scores [B, G]    group losses: hinge, pair_softmax, lce, listnet, lambdarank, margin_mse, kl
    logits [B, C]    pointwise losses: cross_entropy, mse, squared_distance, soft_cross_entropy; C is 1, or 2: not
                     relevant, relevant
    vectors [B, 3, H]  triplet: query, relevant, other

`longrank.training.loss_terms` lists their names and needs.
"""

from __future__ import annotations

import torch
from torch.nn import functional


def hinge(scores: torch.Tensor, *, margin: float = 1.0) -> torch.Tensor:
    """Pairwise hinge, max(0, margin - s+ + s-), of scores [B, 2] (MaxP, PARADE).

    Args:
        scores: the relevant document's score first, as the network ranks by it.
        margin: required difference.
    """
    scores = scores.float()
    return functional.relu(margin - scores[:, 0] + scores[:, 1]).mean()


def pair_softmax(scores: torch.Tensor) -> torch.Tensor:
    """1 less the softmax of a pair at the relevant document, of scores [B, 2] (CEDR, Capreolus)."""
    return (1 - scores.float().softmax(1)[:, 0]).mean()


def lce(scores: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of groups, -log softmax(s)_0, of scores [B, G] (localized contrastive estimation)."""
    return -scores.float().log_softmax(1)[:, 0].mean()


def listnet(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of softmax(labels) and softmax(scores) of groups, both [B, G] (ListNet, Cao et al. 2007, top one).

    Args:
        scores: of the documents.
        labels: their grades, 0 or more.
    """
    return -(labels.float().softmax(1) * scores.float().log_softmax(1)).sum(1).mean()


def lambdarank(scores: torch.Tensor, labels: torch.Tensor, *, sigma: float = 1.0) -> torch.Tensor:
    """Pairwise logistic loss of groups, each pair weighted by its change of nDCG (LambdaRank, Burges et al. 2006).

    The sum over pairs with y_i > y_j of |dnDCG_ij| log(1 + exp(-sigma (s_i - s_j))). dnDCG_ij is the change of nDCG if
    the two swap their places in the order by score: gains 2^y - 1, discounts 1 / log2(1 + rank), over the group's
    ideal DCG. Of equal scores the first comes first. No gradient goes through the order.

    Args:
        scores: of the documents, [B, G].
        labels: their grades, [B, G], 0 or more.
        sigma: steepness.
    """
    scores, gains = scores.float(), labels.float().exp2() - 1
    size = scores.shape[1]
    discounts = 1 / torch.log2(torch.arange(2, size + 2, device=scores.device, dtype=scores.dtype))
    order = scores.detach().argsort(dim=1, descending=True, stable=True)
    of_document = torch.empty_like(scores).scatter_(1, order, discounts.expand_as(scores))
    ideal = (gains.sort(dim=1, descending=True).values * discounts).sum(1).clamp(min=torch.finfo(scores.dtype).tiny)
    change = (gains[:, :, None] - gains[:, None]) * (of_document[:, :, None] - of_document[:, None])
    better = labels[:, :, None] > labels[:, None]
    weights = (change.abs() / ideal[:, None, None]).masked_fill(~better, 0)
    return (weights * functional.softplus(-sigma * (scores[:, :, None] - scores[:, None]))).sum((1, 2)).mean()


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor, *, temperature: float = 1.0) -> torch.Tensor:
    """Pointwise cross-entropy.

    Args:
        logits: [B, 1] (binary cross-entropy) or [B, 2].
        labels: [B], 1: relevant, 0: not.
        temperature: divides the logits; only PARADE's distillation with soft cross-entropy uses other values than 1.
    """
    logits = logits.float() / temperature
    if logits.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], labels.float())
    return functional.cross_entropy(logits, labels.long())


def triplet(vectors: torch.Tensor, *, margin: float = 5.0) -> torch.Tensor:
    """Triplet loss, max(0, |q - d+| - |q - d-| + margin), with Euclidean distances, of vectors [B, 3, H] (Santos).

    The distance of equal vectors has the gradient 0, not NaN. The paper names no margin; 5 is sentence-transformers'.
    """
    query, relevant, other = vectors.float().unbind(1)
    return functional.relu(_distance(query, relevant) - _distance(query, other) + margin).mean()


def mse(logits: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Mean squared difference from the teacher's logits, both [B, C].

    The mean is over logits, too, as in PARADE's code; `squared_distance` of its paper is C times as large.
    """
    return functional.mse_loss(logits.float(), teacher.float())


def squared_distance(logits: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Squared distance from the teacher's own logits, summed over logits, both [B, C] (PARADE's paper)."""
    return (logits.float() - teacher.float()).square().sum(1).mean()


def margin_mse(scores: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Mean of ((s+ - s-) - (t+ - t-))^2 of pairs, both [B, 2] (Hofstätter et al. 2020)."""
    scores, teacher = scores.float(), teacher.float()
    return functional.mse_loss(scores[:, 0] - scores[:, 1], teacher[:, 0] - teacher[:, 1])


def soft_cross_entropy(logits: torch.Tensor, teacher: torch.Tensor, *, temperature: float = 10.0) -> torch.Tensor:
    """T^2 times the cross-entropy of softmax(t / T) and softmax(z / T), both [B, 2] (Hinton et al. 2015).

    The factor keeps gradients of the same size whatever the temperature T.
    """
    taught = (teacher.float() / temperature).softmax(1)
    return temperature**2 * functional.cross_entropy(logits.float() / temperature, taught)


def log_probabilities(relevant: torch.Tensor) -> torch.Tensor:
    """Return two logits, [B, 2], that give the log-probabilities of relevance, [B, 1], by a softmax.

    A probability that is 1 in float32 counts as the largest that is not.
    """
    relevant = relevant.float().clamp(max=-(2.0**-24))
    return torch.cat([relevant.expm1().neg().log(), relevant], dim=1)


def kl(scores: torch.Tensor, teacher: torch.Tensor, *, temperature: float = 1.0) -> torch.Tensor:
    """KL(softmax(t / T) || softmax(s)) of groups, both [B, G].

    The temperature T applies to the teacher alone. It scales cosines, for example, to the size of logits, and the
    student learns scores of that size.
    """
    taught = (teacher.float() / temperature).log_softmax(1)
    return functional.kl_div(scores.float().log_softmax(1), taught, reduction="batchmean", log_target=True)


def _distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return Euclidean distances, [B]; of equal vectors, 0 with the gradient 0."""
    squared = (a - b).square().sum(1)
    equal = squared == 0
    return squared.masked_fill(equal, 1).sqrt().masked_fill(equal, 0)
