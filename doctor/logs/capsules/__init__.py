"""What each process held when it failed."""
