"""`python -m unmasq`: the command `unmasq`, where its folder is not on the PATH."""

from unmasq.cli import main

if __name__ == "__main__":
    main()
