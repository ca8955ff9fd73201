"""`python -m whitewire` is the same as the console script."""

import sys

from whitewire.cli import main

sys.exit(main())
