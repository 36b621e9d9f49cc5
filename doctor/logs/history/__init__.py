"""Runs beside each other: what lies in doctor-runs, and what differs between two of them."""
