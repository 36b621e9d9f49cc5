"""TRL: arguments, batch rules, versions."""
