"""The script that measures the docs' claims on a card, exercised on the stand-in for NVML and on the CPU."""
