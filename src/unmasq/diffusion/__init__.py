"""The diffusion processes: masking, Gaussian noise, and their losses. No parameters here."""
