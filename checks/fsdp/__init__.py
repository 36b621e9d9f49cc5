"""FSDP: settings that do not go together."""
