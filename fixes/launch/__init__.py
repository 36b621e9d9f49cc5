"""The launch command: processes, ports, addresses, files."""
