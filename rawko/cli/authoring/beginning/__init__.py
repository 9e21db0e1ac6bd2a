"""`rawko new`: the templates of charts, agents and machines, and the command that writes them."""
