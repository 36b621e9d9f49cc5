"""Out of memory and memory budgets."""
