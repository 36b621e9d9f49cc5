"""What a process held in the moment of its failure, kept as facts in the run folder; runs inside the patient.

Nothing here runs code of the user's objects, copies from a device or waits for one, and whatever goes wrong stays here.
"""
