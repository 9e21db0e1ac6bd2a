"""From journal rows back to the machines that wrote them."""
