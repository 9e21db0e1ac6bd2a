"""The provider `scripted`: plays the model's answers from a scenario file. Import the module you need."""
