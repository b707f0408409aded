"""`leakline cc`: the compiler that a build calls, with losses noted in what it makes."""
