"""``python -m longrank``."""

import sys

from longrank.cli.main import main

sys.exit(main())
