"""Models' servers: endpoints, failures, fallbacks, cassettes, budgets and rate limits."""
