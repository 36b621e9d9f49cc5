"""Parts of the script that makes doctor/data: reading packages, and shaping what was read."""
