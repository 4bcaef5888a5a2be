"""Reproduction: the tables and figures of five papers, each as one command.

a recipe (recipes/*/*.toml)     the paper's numbers, models and settings, and what it leaves open
a program (papers/*.py)         the paper's systems in the paper's order, as `longrank` commands
a workbench (workbench.py)      runs each command once, on any collection, and evaluates what it gives
a report (report.py)            published beside obtained
"""
