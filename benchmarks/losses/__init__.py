"""How exact the places of losses are: random programs with an oracle, and real ones."""
