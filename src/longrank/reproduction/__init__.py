"""Reproduction: the tables and figures of five papers, each as one command.

recipes (recipes/*/*.toml)      published figures, models, settings and decisions
programs (papers/*.py)          the rows of a table, each made by `longrank` commands
workbench (workbench.py)        runs each command once, on any collection, and evaluates its result
reports (report.py)             published beside obtained figures
"""
