"""What a reported text is made of: words, and values between them."""
