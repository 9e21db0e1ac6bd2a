"""`rawko new`: the texts that it begins a chart, an agent or a machine with, and the command that writes them."""
