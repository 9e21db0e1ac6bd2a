"""The provider `openai`: any server of the chat completions API. Import the module you need; `api` loads the SDK."""
