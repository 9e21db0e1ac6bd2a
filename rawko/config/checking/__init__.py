"""What is wrong with settings: defects of files with their places, collected and told at once."""
