"""Proofs about guards: that no two of one state and event can both hold, and that one of them always does."""
