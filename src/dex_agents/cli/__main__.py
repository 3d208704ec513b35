# twin: shared
"""`python -m dex_agents.cli`: the command without its script."""

import sys

from dex_agents.cli.main import main

sys.exit(main())
