"""Measurements on real collections, reported in docs/results.md; each module is run by itself."""
