"""Components for other frameworks, one module each; every module needs the extra of its name."""
