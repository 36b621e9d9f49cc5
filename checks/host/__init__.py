"""Memory, limits, disks, containers."""
