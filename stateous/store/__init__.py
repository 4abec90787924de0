"""The statements and the two drivers that run them, behind one Store."""
