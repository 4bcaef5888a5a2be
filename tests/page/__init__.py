"""A package, so that the browser is closed when the last test of this folder is done."""
