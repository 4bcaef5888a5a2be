"""Statistics and plots that describe collections, evidence files and runs."""
