"""The commands as functions: paths or values in, values out; they print nothing and read no environment."""
