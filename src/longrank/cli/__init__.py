"""The command line: thin. Each module parses one command, calls the library and prints."""
