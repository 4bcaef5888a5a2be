"""Tuning: which settings are best, and what they are worth on queries that did not choose them.

Of a first stage, whose settings are searched with, or of weights, which are tried on what a reranker has said.

grids        axes such as ``k1=0.6:1.2:0.1`` -> settings
search       settings of a first stage x queries -> a table of values, on all cores, resumable
weights      weights of first stage and passages x queries -> the same; `formula`, `rankings`, `reranked` are its parts
protocols    the table -> choices -> an outcome; `rules`: how the setting of a fold is chosen
report       the outcome as JSON, and as a table to print
"""
