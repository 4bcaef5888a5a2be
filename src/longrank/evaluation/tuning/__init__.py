"""Tuning a first stage: which settings are best, and what they are worth on queries that did not choose them.

grids        axes such as ``k1=0.6:1.2:0.1`` -> settings
search       settings x queries -> a table of values, on all cores, resumable
protocols    the table -> choices -> an outcome; `rules`: how the setting of a fold is chosen
report       the outcome as JSON, and as a table to print
"""
