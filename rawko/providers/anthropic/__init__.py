"""The provider `anthropic`: any server of the Messages API. Import the module you need; `api` loads the SDK."""
