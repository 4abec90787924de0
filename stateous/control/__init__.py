"""The control plane: lanes that gather commands, the clock, and the composition of it all."""
