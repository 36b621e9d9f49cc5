"""Scripts that run inside the patient's interpreter, handed over as text: Python 3.6 syntax, standard library, torch.

The doctor reads them as data and never imports them, so that nothing of its own comes to the patient's path.
"""
