"""What people type: the command `sundial`, one file for each of its subcommands. May import every other room of the stack."""
