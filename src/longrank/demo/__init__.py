"""The collection of ``longrank demo``: real text from every machine with Python, our own queries and judgments."""
