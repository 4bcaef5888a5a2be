"""The collection and the experiment of ``longrank demo``."""
