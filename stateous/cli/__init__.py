"""The stateous command, one file per command group."""
