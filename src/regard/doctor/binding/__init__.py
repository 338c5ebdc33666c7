"""How the examined code is called: what its arguments mean, and its answer in one form."""
