"""The pipelines as parts of other frameworks: one module each, each an extra of its name."""
