"""The supervisor: claims tasks from a control plane and runs the routines of one folder for them."""
