"""Pure decisions over a family of tokens: facts, ids and the time go in, changes and answers come out."""
