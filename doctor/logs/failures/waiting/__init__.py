"""Who waits for what: what a log says is awaited against what it says is there, and settings that let ranks part."""
