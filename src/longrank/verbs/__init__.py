"""The commands as functions: paths or values in, values out; nothing is printed."""
