"""The nouns of the house: frozen values with no input, output, clock or chance."""
