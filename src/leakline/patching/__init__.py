"""Plans patches of machine code for one ELF file."""
