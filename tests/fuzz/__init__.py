"""Readers of files on damaged and hostile bytes; `targets` has the list."""
