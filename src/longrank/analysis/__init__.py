"""What is asked about collections, evidence and runs rather than of them: numbers first, plots beside them."""
