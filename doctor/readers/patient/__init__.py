"""Scripts that run inside the patient's interpreter, with the standard library and the patient's torch.

`deep` is handed over as text (Python 3.6 syntax) and never imported by the doctor. `measure` and what it needs are
carried (`doctor.readers.patient.carry`, Python 3.9 syntax) into an empty folder, which alone comes to the patient's
path.
"""
