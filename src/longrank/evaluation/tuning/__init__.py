"""Tuning: find the best settings, and test them on queries that did not choose them.

Settings of a first stage are searched with; weights are applied to scores that a reranker stored.

grids        axes such as ``k1=0.6:1.2:0.1`` -> settings
search       settings of a first stage x queries -> a table of values, on all cores, resumable
weights      weights of first stage and passages x queries -> a table; `formula`, `rankings`, `reranked` are its parts
protocols    table -> choices -> outcome; `rules`: choose the setting of a fold
result       choices, value and run, as the caller gets them; `report` renders them
"""
