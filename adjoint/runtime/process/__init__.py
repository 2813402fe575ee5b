"""Settings of the process, state of its threads, and the line of the user's program that is running."""
