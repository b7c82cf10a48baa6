"""`spoteval` from the checkout."""

from spoteval.cli import main

main()
