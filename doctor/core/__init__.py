"""The engine: problems, findings, the registry and the runner. It knows no problem by name."""
