"""Numbers that DWARF data gives to the general registers of x86-64."""

from iced_x86 import Register

DWARF_REGISTERS = {
    int(register): number
    for number, register in enumerate(
        [
            Register.RAX,
            Register.RDX,
            Register.RCX,
            Register.RBX,
            Register.RSI,
            Register.RDI,
            Register.RBP,
            Register.RSP,
            Register.R8,
            Register.R9,
            Register.R10,
            Register.R11,
            Register.R12,
            Register.R13,
            Register.R14,
            Register.R15,
        ]
    )
}
