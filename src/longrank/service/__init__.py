"""Ranking over HTTP, with evidence: the dialects that clients speak, limits that hold, and a page to look at it."""
