"""What is simulated: each scenario runs one part under one seed and says what it found wrong."""
