"""Stands still until it is ended, or for a minute."""

import threading

print("step 1", flush=True)
threading.Event().wait(60)
