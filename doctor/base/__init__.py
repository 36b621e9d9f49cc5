"""What everything rests on; it knows no problem, no fact and no library of the stack."""
