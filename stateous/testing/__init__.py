"""What users test with: a routine by itself, or a whole workflow in memory, with the real engine and a clock by hand."""
