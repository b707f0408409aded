"""Files that other tools read: a CMake module and templates of shell completions."""
